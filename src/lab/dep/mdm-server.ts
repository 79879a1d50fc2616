import { randomUUID } from 'node:crypto';
import { createDevice, type DepDevice, type DeviceKind } from './dep-device.js';

/** A profile as the client defined it. */
export type ProfileDefinition = Readonly<Record<string, unknown>>;

export type SerialResult = 'SUCCESS' | 'NOT_ACCESSIBLE';

/** Nobody needs as many; the oldest is forgotten, and those who have it keep it. */
const MOST_PROFILES = 10_000;

/** What a portal calls a device management server: one token, and the devices given to it. */
export class MdmServer {
  /** In the order in which they came; those that are gone stay. */
  readonly devices: DepDevice[] = [];
  readonly profiles = new Map<string, ProfileDefinition>();
  log = new OperationLog();
  /** Tokens issued before are no longer good. */
  tokenIssuedAt = 0;
  /** How many devices were made up for it. */
  made = 0;
  /** Grows when all cursors expire. */
  cursorEpoch = 0;
  readonly #bySerial = new Map<string, DepDevice>();

  constructor(
    readonly name: string,
    readonly uuid: string,
  ) {}

  get count(): number {
    return this.#bySerial.size;
  }

  /** Only while it belongs to this server. */
  find(serial: string): DepDevice | undefined {
    return this.#bySerial.get(serial);
  }

  add(serial: string, kind: DeviceKind): void {
    const device = createDevice(serial, kind, Date.now());
    this.restore(device);
    this.log.add('added', device);
  }

  /** Without a trace in the log. */
  restore(device: DepDevice): void {
    this.devices.push(device);
    if (!device.isGone) this.#bySerial.set(device.serial, device);
  }

  remove(serial: string): SerialResult {
    const device = this.#bySerial.get(serial);
    if (device === undefined) return 'NOT_ACCESSIBLE';
    this.#bySerial.delete(serial);
    Object.assign(device, { isGone: true, profile: undefined, status: 'empty' });
    this.log.add('deleted', device);
    return 'SUCCESS';
  }

  /** 32 hexadecimal digits in upper case, as Apple's are. */
  define(definition: ProfileDefinition): string {
    const uuid = randomUUID().replaceAll('-', '').toUpperCase();
    this.profiles.set(uuid, definition);
    const [oldest] = this.profiles.keys();
    if (oldest !== undefined && this.profiles.size > MOST_PROFILES) this.profiles.delete(oldest);
    return uuid;
  }

  /** Of its profiles nothing is left, and no device has one. */
  forgetProfiles(): void {
    this.profiles.clear();
    for (const { serial, profile } of this.devices)
      if (profile !== undefined) this.unassign(serial);
  }

  assign(serial: string, profile: string): SerialResult {
    return this.#change(serial, { profile, status: 'assigned', profileAssignedAt: Date.now() });
  }

  unassign(serial: string): SerialResult {
    return this.#change(serial, { profile: undefined, status: 'removed' });
  }

  /** The device has fetched its profile. */
  push(serial: string): SerialResult {
    return this.#change(serial, { status: 'pushed', profilePushedAt: Date.now() });
  }

  #change(serial: string, changes: Partial<DepDevice>): SerialResult {
    const device = this.#bySerial.get(serial);
    if (device === undefined) return 'NOT_ACCESSIBLE';
    Object.assign(device, changes);
    this.log.add('modified', device);
    return 'SUCCESS';
  }
}

export type OperationType = 'added' | 'modified' | 'deleted';

interface Operation {
  readonly type: OperationType;
  readonly device: DepDevice;
  /** Milliseconds since 1970. */
  readonly at: number;
}

const MOST = 1_000_000;

/** What happened to the devices of a server, in order; a place in it is a number that only grows. */
export class OperationLog {
  #first: number;
  #operations: Operation[];

  constructor(first = 0, operations: Operation[] = []) {
    this.#first = first;
    this.#operations = operations;
  }

  /** Where the oldest is that is still known. */
  get first(): number {
    return this.#first;
  }

  /** Where the next one will be. */
  get end(): number {
    return this.#first + this.#operations.length;
  }

  add(type: OperationType, device: DepDevice): void {
    this.#operations.push({ type, device, at: Date.now() });
    if (this.#operations.length <= MOST) return;
    const forgotten = MOST / 2;
    this.#operations = this.#operations.slice(forgotten);
    this.#first += forgotten;
  }

  from(place: number, count: number): readonly Operation[] {
    const start = place - this.#first;
    return this.#operations.slice(start, start + count);
  }
}
