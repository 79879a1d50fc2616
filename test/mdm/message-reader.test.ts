import { type DeviceMessage, readMessage } from '../../src/mdm/device-message.js';
import { MessageReader } from '../../src/mdm/message-reader.js';
import { capturingLogger } from '../http/log-lines.js';

const MB = 1024 * 1024;
const IDLE = Buffer.from(
  '<plist><dict><key>Status</key><string>Idle</string><key>UDID</key><string>U</string></dict></plist>',
);
const BUSY = { code: 'server_busy', status: 503 };

let finish: (() => void)[];
let reader: MessageReader;

beforeEach(() => {
  finish = [];
  const read = { output: readMessage(IDLE), ms: 1 };
  reader = new MessageReader({
    logger: capturingLogger().logger,
    readInThread: () => new Promise((resolve) => finish.push(() => resolve(read))),
    now: () => 0,
  });
});

function identity(number: number): Buffer {
  return Buffer.alloc(32, number);
}

function readLarge(number: number, bytes = 8 * MB): Promise<DeviceMessage> {
  return reader.read(Buffer.alloc(bytes), identity(number));
}

function finishAll(): void {
  for (const one of finish.splice(0)) one();
}

describe('the reader of messages', () => {
  it('reads what is small at once, whatever else waits', async () => {
    const waiting = [readLarge(1), readLarge(1)];
    await expect(reader.read(IDLE, identity(1))).resolves.toMatchObject({ status: 'Idle' });
    finishAll();
    await Promise.all(waiting);
  });

  it('queues 16 MB of one identity, and other identities meanwhile', async () => {
    const waiting = [readLarge(1), readLarge(1), readLarge(2)];
    await expect(readLarge(1, 100_000)).rejects.toMatchObject(BUSY);
    finishAll();
    await Promise.all(waiting);
    const later = readLarge(1);
    finishAll();
    await expect(later).resolves.toMatchObject({ kind: 'report' });
  });

  it('queues 128 MB of all identities', async () => {
    const waiting = Array.from({ length: 16 }, (_, number) => readLarge(number));
    await expect(readLarge(100)).rejects.toMatchObject(BUSY);
    finishAll();
    await Promise.all(waiting);
  });

  it('refuses by the length alone once the budget of an identity is used up', async () => {
    for (let sent = 0; sent < 8; sent++) {
      const reading = readLarge(1);
      finishAll();
      await reading;
    }
    const announce = (number: number, bytes: number) => () =>
      reader.assertWithinBudget(identity(number), bytes);
    expect(announce(1, 8 * MB)).toThrow('has sent more large messages than it may');
    for (const [number, bytes] of [
      [1, 16 * 1024],
      [1, Number.NaN],
      [2, 8 * MB],
    ] as const) {
      expect(announce(number, bytes)).not.toThrow();
    }
  });
});
