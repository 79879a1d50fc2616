import {
  readAccount,
  readDefinition,
  readLock,
  readPage,
  readResults,
  writeUuid,
} from './answers.js';

import type {
  AccountDetail,
  ActivationLock,
  DepApi,
  DevicePage,
  PageRequest,
  SerialResults,
} from './dep-api.js';
import { MOST_SERIALS } from './dep-api.js';
import type { DepRequest } from './service-calls.js';

/** What a call gave, read; undefined from `read` where it is not what was asked for. */
export type Ask = <T>(
  request: DepRequest,
  read: (value: unknown, now: number) => T | undefined,
) => Promise<T>;

/** Apple's web service, call by call; names and limits are those of its documentation. */
export class DepClient implements DepApi {
  constructor(private readonly ask: Ask) {}

  account(): Promise<AccountDetail> {
    return this.ask({ method: 'GET', path: '/account' }, readAccount);
  }

  fetchDevices({ cursor, limit }: PageRequest): Promise<DevicePage> {
    const body = { limit, ...(cursor !== null && { cursor }) };
    return this.ask({ method: 'POST', path: '/server/devices', body }, readPage);
  }

  syncDevices({ cursor, limit }: PageRequest & { cursor: string }): Promise<DevicePage> {
    const body = { limit, cursor };
    return this.ask({ method: 'POST', path: '/devices/sync', body }, readPage);
  }

  // Asked for twice, Apple keeps two definitions, of which one is used.
  defineProfile(definition: object): Promise<string> {
    return this.ask({ method: 'POST', path: '/profile', body: definition }, readDefinition);
  }

  assignProfile(uuid: string, serialNumbers: readonly string[]): Promise<SerialResults> {
    const body = { profile_uuid: writeUuid(uuid), devices: serialNumbers };
    return this.#bySerial(serialNumbers, { method: 'POST', path: '/profile/devices', body });
  }

  removeProfiles(devices: readonly string[]): Promise<SerialResults> {
    return this.#bySerial(devices, {
      method: 'DELETE',
      path: '/profile/devices',
      body: { devices },
    });
  }

  disown(devices: readonly string[]): Promise<SerialResults> {
    // A second answer would say that they are not accessible.
    return this.#bySerial(devices, {
      method: 'POST',
      path: '/devices/disown',
      body: { devices },
      isOnce: true,
    });
  }

  enableActivationLock(lock: ActivationLock): Promise<SerialResults> {
    const { serialNumber, escrowKey, lostMessage } = lock;
    const body = {
      device: serialNumber,
      ...(escrowKey !== undefined && { escrow_key: escrowKey }),
      ...(lostMessage !== undefined && { lost_message: lostMessage }),
    };
    return this.ask({ method: 'POST', path: '/device/activationlock', body }, (value) =>
      readLock(value, serialNumber),
    );
  }

  async #bySerial(serials: readonly string[], request: DepRequest): Promise<SerialResults> {
    if (serials.length > MOST_SERIALS) {
      throw new RangeError(`${serials.length} serial numbers in one call`);
    }
    return serials.length === 0 ? new Map() : await this.ask(request, readResults);
  }
}
