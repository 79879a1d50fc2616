import { ControlFault } from '../wire/control-http.js';
import { DEVICE_KINDS, type DepDevice, type DeviceFamily } from './dep-device.js';
import { MdmServer } from './mdm-server.js';
import type { ServerTokens } from './server-tokens.js';

const FIRST_DEVICES: [DeviceFamily, number][] = [
  ['iPhone', 4],
  ['iPad', 3],
  ['Mac', 3],
];

const FIRST_COUNT = FIRST_DEVICES.reduce((sum, [, count]) => sum + count, 0);

const SERIAL_ALPHABET = 'CDFGHJKLMNPQRTVWXY0123456789';

const LETTERS = 18;

const SERIAL_LENGTH = 10;

export interface FoundDevice {
  server: MdmServer;
  device: DepDevice;
}

/** Apple's customer, with its servers and devices. */
export class Organization {
  readonly #servers = new Map<string, MdmServer>();
  /** false: calls are answered T_C_NOT_SIGNED. */
  areTermsSigned = true;

  constructor(
    private readonly tokens: ServerTokens,
    /** Part of cursors, so that those of another state are rejected. */
    readonly stateId: string,
    private readonly onChange: () => void,
  ) {}

  get servers(): readonly MdmServer[] {
    return [...this.#servers.values()];
  }

  /** The server of this name; created with a few devices, always the same, if it does not exist. */
  server(name: string): MdmServer {
    const known = this.#servers.get(name);
    if (known !== undefined) return known;
    this.requireCapacity(undefined, FIRST_COUNT);
    const server = this.emptyServer(name);
    for (const [family, count] of FIRST_DEVICES) this.makeDevices(server, family, count);
    return server;
  }

  /** Throws ControlFault 422 if `more` devices are too many. `server` is undefined for a new one. */
  requireCapacity(server: MdmServer | undefined, more: number): void {
    const inAll = this.servers.reduce((sum, { devices }) => sum + devices.length, 0);
    checkCapacity({ ofServer: server?.devices.length ?? 0, inAll }, more);
  }

  emptyServer(name: string): MdmServer {
    const uuid = this.tokens.derive(`server/${name}`).slice(0, 32).toUpperCase();
    const server = new MdmServer(name, uuid);
    this.#servers.set(name, server);
    return server;
  }

  find(serial: string): FoundDevice | undefined {
    for (const server of this.#servers.values()) {
      const device = server.find(serial);
      if (device !== undefined) return { server, device };
    }
    return undefined;
  }

  /** Generates devices of all models of the family in turn. Returns their serial numbers. */
  makeDevices(server: MdmServer, family: DeviceFamily, count: number): string[] {
    const kinds = DEVICE_KINDS[family];
    const serials: string[] = [];
    while (serials.length < count) {
      const number = server.made;
      server.made += 1;
      const digest = this.tokens.derive(`device/${server.name}/${number}`);
      const serial = serialOf(Buffer.from(digest, 'hex'));
      const kind = kinds[number % kinds.length];
      if (kind === undefined || this.find(serial) !== undefined) continue;
      server.add(serial, kind);
      serials.push(serial);
    }
    this.changed();
    return serials;
  }

  /** Adds devices by serial number; those of another server are moved. */
  addDevices(server: MdmServer, family: DeviceFamily, serials: readonly string[]): void {
    for (const serial of serials) {
      const found = this.find(serial);
      if (found?.server === server) continue;
      found?.server.remove(serial);
      const kinds = DEVICE_KINDS[family];
      const kind = found?.device.kind ?? kinds[server.devices.length % kinds.length];
      if (kind !== undefined) server.add(serial, kind);
    }
    this.changed();
  }

  changed(): void {
    this.onChange();
  }
}

const MAX_OF_SERVER = 200_000;

const MAX_IN_ALL = 400_000;

/** Numbers of devices, removed ones included: they stay in memory. */
interface DeviceCounts {
  ofServer: number;
  inAll: number;
}

/** Throws ControlFault 422 if `more` devices are too many for one process. */
export function checkCapacity({ ofServer, inAll }: DeviceCounts, more: number): void {
  if (ofServer + more > MAX_OF_SERVER)
    throw overCapacity('A server of the lab', MAX_OF_SERVER, ofServer);
  if (inAll + more > MAX_IN_ALL) throw overCapacity('All servers of the lab', MAX_IN_ALL, inAll);
}

/** Ten characters, the first one a letter, like newer devices. */
function serialOf(digest: Buffer): string {
  const characters = [...digest.subarray(0, SERIAL_LENGTH)].map((byte, index) =>
    SERIAL_ALPHABET.charAt(byte % (index === 0 ? LETTERS : SERIAL_ALPHABET.length)),
  );
  return characters.join('');
}

function overCapacity(who: string, most: number, there: number): ControlFault {
  const [limit, count] = [most, there].map((number) => number.toLocaleString('en'));
  const message = `${who} may have ${limit} devices, including removed ones`;
  return new ControlFault(422, `${message}; there are ${count}`);
}
