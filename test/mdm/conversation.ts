import { randomUUID } from 'node:crypto';
import type { Reply, TestDevice } from '../helpers/device.js';

/** Success with nothing to say: 200 and a length of zero, never 204. */
export function expectEmpty(reply: Reply) {
  expect([reply.status, reply.headers.get('content-length'), reply.body.length]).toEqual([
    200,
    '0',
    0,
  ]);
}

/** A 403 that unenrolls nobody. */
export function expectPlainRefusal(reply: Reply) {
  expect([reply.status, reply.body.length]).toEqual([403, 0]);
  expect(reply.headers.get('content-type')).not.toContain('json');
}

/** Apple's 403 that makes a device end its enrollment. */
export function expectUnrecognized(reply: Reply) {
  expect(reply.status).toBe(403);
  expect(reply.headers.get('content-type')).toBe('application/json');
  expect(reply.body.toString()).toBe('{"code":"com.apple.unrecognized.device"}');
}

/** Everything a device can say, as the given one. */
export const MESSAGES: [string, (device: TestDevice) => Promise<Reply>][] = [
  ['TokenUpdate', (device) => device.tokenUpdate()],
  ['CheckOut', (device) => device.checkOut()],
  ['Idle', (device) => device.idle()],
  ['a report', (device) => device.report(randomUUID())],
  [
    'SetBootstrapToken',
    (device) => device.checkIn('SetBootstrapToken', { BootstrapToken: Buffer.from('b') }),
  ],
  ['GetBootstrapToken', (device) => device.checkIn('GetBootstrapToken')],
  ['a TokenUpdate of a user', (device) => device.tokenUpdate({ UserID: 'U', UserShortName: 'u' })],
];
export const ALL_MESSAGES: typeof MESSAGES = [
  ['Authenticate', (device) => device.authenticate()],
  ...MESSAGES,
];
