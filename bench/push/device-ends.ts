import { CourierClient } from '../../src/lab/apns/courier-client.js';
import { magicOf, tokenOf } from './push-devices.js';
import type { StandInProcess } from './stand-in-process.js';

const MAX_WAIT_MS = 30_000;

interface Waiting {
  resolve(at: number): void;
  reject(error: Error): void;
}

/** The devices' side of the push service: receives which device was pushed, and when. */
export class DeviceEnds {
  private readonly waiting = new Map<number, Waiting>();

  private constructor(private readonly courier: CourierClient) {}

  static async connect({ target }: StandInProcess, ids: readonly number[]): Promise<DeviceEnds> {
    const ends = new DeviceEnds(new CourierClient({ url: target.courier }));
    await Promise.all(
      ids.map((id) =>
        ends.courier.connect(tokenOf(id), target.topic, ({ payload }) =>
          ends.note(id, payload.mdm),
        ),
      ),
    );
    return ends;
  }

  private note(id: number, magic: string): void {
    const waiting = this.waiting.get(id);
    this.waiting.delete(id);
    if (magic === magicOf(id)) waiting?.resolve(performance.now());
    else waiting?.reject(new Error(`device ${id} was pushed with the magic of another one`));
  }

  /** When the next push for this device arrives, by `performance.now`. */
  next(id: number): Promise<number> {
    return new Promise((resolve, reject) => {
      const fail = () => reject(new Error(`device ${id} was not pushed`));
      const timer = setTimeout(fail, MAX_WAIT_MS);
      const finish = (done: () => void) => {
        clearTimeout(timer);
        done();
      };
      this.waiting.set(id, {
        resolve: (at) => finish(() => resolve(at)),
        reject: (error) => finish(() => reject(error)),
      });
    });
  }

  close(): Promise<void> {
    return this.courier.close();
  }
}
