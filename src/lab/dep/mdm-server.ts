import { randomUUID } from 'node:crypto';
import { createDevice, type DepDevice, type DeviceKind } from './dep-device.js';

/** A profile as defined by the client. */
export type ProfileDefinition = Readonly<Record<string, unknown>>;

export type SerialResult = 'SUCCESS' | 'NOT_ACCESSIBLE';

/** Beyond this the oldest profile is dropped; devices that have it keep it. */
const MAX_PROFILES = 10_000;

/** A device management server of the portal: one token, and the devices assigned to it. */
export class MdmServer {
  /** In the order of their assignment; removed devices stay in the list. */
  readonly devices: DepDevice[] = [];
  readonly profiles = new Map<string, ProfileDefinition>();
  log = new OperationLog();
  /** Tokens issued before this time are invalid. */
  tokenIssuedAt = 0;
  /** Number of devices generated for it. */
  made = 0;
  /** Incremented to expire all cursors. */
  cursorEpoch = 0;
  readonly #bySerial = new Map<string, DepDevice>();

  constructor(
    readonly name: string,
    readonly uuid: string,
  ) {}

  get count(): number {
    return this.#bySerial.size;
  }

  /** undefined for a device that is not assigned to this server. */
  find(serial: string): DepDevice | undefined {
    return this.#bySerial.get(serial);
  }

  add(serial: string, kind: DeviceKind): void {
    const device = createDevice(serial, kind, Date.now());
    this.restore(device);
    this.log.add('added', device);
  }

  /** Adds a device without an entry in the log. */
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

  /** Returns 32 hexadecimal digits in upper case, like Apple. */
  define(definition: ProfileDefinition): string {
    const uuid = randomUUID().replaceAll('-', '').toUpperCase();
    this.profiles.set(uuid, definition);
    const [oldest] = this.profiles.keys();
    if (oldest !== undefined && this.profiles.size > MAX_PROFILES) this.profiles.delete(oldest);
    return uuid;
  }

  /** Deletes all profiles and unassigns them. */
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

const MAX_OPERATIONS = 1_000_000;

/** The operations on a server's devices in order; a place in the log is an increasing number. */
export class OperationLog {
  #first: number;
  #operations: Operation[];

  constructor(first = 0, operations: Operation[] = []) {
    this.#first = first;
    this.#operations = operations;
  }

  /** Place of the oldest operation in the log. */
  get first(): number {
    return this.#first;
  }

  /** Place of the next operation. */
  get end(): number {
    return this.#first + this.#operations.length;
  }

  add(type: OperationType, device: DepDevice): void {
    this.#operations.push({ type, device, at: Date.now() });
    if (this.#operations.length <= MAX_OPERATIONS) return;
    const forgotten = MAX_OPERATIONS / 2;
    this.#operations = this.#operations.slice(forgotten);
    this.#first += forgotten;
  }

  from(place: number, count: number): readonly Operation[] {
    const start = place - this.#first;
    return this.#operations.slice(start, start + count);
  }
}
