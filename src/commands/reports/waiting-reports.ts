export interface WaitingReport {
  id: number;
  deviceId: number;
}

/**
 * The reports that this process is to handle. Reports of one device are handled one after another, so that
 * the newest inventory remains; reports of different devices in any order.
 */
export class WaitingReports {
  readonly #byDevice = new Map<number, number[]>();
  /** Ids of waiting and claimed reports. */
  readonly #ids = new Set<number>();
  /** Devices with a claimed report. */
  readonly #busy = new Set<number>();

  /** Number of waiting and claimed reports. */
  get size(): number {
    return this.#ids.size;
  }

  /** Adds the report behind those of its device, unless it is here already. */
  add({ id, deviceId }: WaitingReport): void {
    if (this.#ids.has(id)) return;
    this.#ids.add(id);
    const ofDevice = this.#byDevice.get(deviceId);
    if (ofDevice === undefined) this.#byDevice.set(deviceId, [id]);
    else ofDevice.push(id);
  }

  /** Claims at most one report of each device without a claimed report. */
  take(limit: number): WaitingReport[] {
    const taken: WaitingReport[] = [];
    for (const [deviceId, ids] of this.#byDevice) {
      if (taken.length === limit) break;
      if (this.#busy.has(deviceId)) continue;
      const id = ids.shift();
      // The others of this device wait behind those of all devices.
      this.#byDevice.delete(deviceId);
      if (ids.length > 0) this.#byDevice.set(deviceId, ids);
      if (id === undefined) continue;
      taken.push({ id, deviceId });
      this.#busy.add(deviceId);
    }
    return taken;
  }

  /** Returns a claimed report to the queue, before others of its device. */
  putBack({ id, deviceId }: WaitingReport): void {
    this.#busy.delete(deviceId);
    this.#byDevice.set(deviceId, [id, ...(this.#byDevice.get(deviceId) ?? [])]);
  }

  /** The claimed report is handled, or left to a later sweep. */
  release({ id, deviceId }: WaitingReport): void {
    this.#ids.delete(id);
    this.#busy.delete(deviceId);
  }

  /** Removes what waits of the device. */
  removeOf(deviceId: number): void {
    for (const id of this.#byDevice.get(deviceId) ?? []) this.#ids.delete(id);
    this.#byDevice.delete(deviceId);
  }
}
