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
import { MAX_SERIALS } from './dep-api.js';
import type { DepRequest } from './service-calls.js';

/** Makes a call and returns what `read` makes of the answer; `read` returns undefined if malformed. */
export type Call = <T>(
  request: DepRequest,
  read: (value: unknown, now: number) => T | undefined,
) => Promise<T>;

/** Apple's web service, call by call; names and limits are those of its documentation. */
export class DepClient implements DepApi {
  constructor(private readonly call: Call) {}

  account(): Promise<AccountDetail> {
    return this.call({ method: 'GET', path: '/account' }, readAccount);
  }

  fetchDevices({ cursor, limit }: PageRequest): Promise<DevicePage> {
    const body = { limit, cursor: cursor ?? undefined };
    return this.call({ method: 'POST', path: '/server/devices', body }, readPage);
  }

  syncDevices({ cursor, limit }: PageRequest & { cursor: string }): Promise<DevicePage> {
    const body = { limit, cursor };
    return this.call({ method: 'POST', path: '/devices/sync', body }, readPage);
  }

  // Repeating the call is harmless: Apple keeps two definitions, and one of them is used.
  defineProfile(definition: object): Promise<string> {
    return this.call({ method: 'POST', path: '/profile', body: definition }, readDefinition);
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
    // Sent twice, the second answer would be NOT_ACCESSIBLE for every device.
    return this.#bySerial(devices, {
      method: 'POST',
      path: '/devices/disown',
      body: { devices },
      isOnce: true,
    });
  }

  enableActivationLock(lock: ActivationLock): Promise<SerialResults> {
    const { serialNumber, escrowKey, lostMessage } = lock;
    const body = { device: serialNumber, escrow_key: escrowKey, lost_message: lostMessage };
    return this.call({ method: 'POST', path: '/device/activationlock', body }, (value) =>
      readLock(value, serialNumber),
    );
  }

  async #bySerial(serials: readonly string[], request: DepRequest): Promise<SerialResults> {
    if (serials.length > MAX_SERIALS) {
      throw new RangeError(`${serials.length} serial numbers in one call`);
    }
    return serials.length === 0 ? new Map() : await this.call(request, readResults);
  }
}
