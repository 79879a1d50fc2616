import type { CourierPush } from '../../../src/lab/apns/courier-lines.js';
import type { Courier } from '../../../src/lab/fleet/pushed-polling.js';

/** A push service in the hands of the test. */
export class FakeCourier implements Courier {
  readonly topics = new Map<string, string>();
  readonly forgotten: string[] = [];
  isClosed = false;
  /** What `connect` waits for. */
  connected: Promise<void> = Promise.resolve();
  onConnect: (token: string) => void = () => undefined;
  private readonly listeners = new Map<string, (push: CourierPush) => void>();

  connect(token: string, topic: string, listener: (push: CourierPush) => void): Promise<void> {
    this.topics.set(token, topic);
    this.listeners.set(token, listener);
    this.onConnect(token);
    return this.connected;
  }

  forget(token: string): Promise<void> {
    this.forgotten.push(token);
    this.listeners.delete(token);
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.isClosed = true;
    this.listeners.clear();
    return Promise.resolve();
  }

  push(token: string, mdm: string): void {
    this.listeners.get(token)?.({ token, payload: { mdm }, apnsId: '' });
  }
}
