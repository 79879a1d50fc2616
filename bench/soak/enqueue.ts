import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiClient } from '../load/api-client.js';

export interface Enqueued {
  /** Commands that the server confirmed. */
  accepted: number;
  /** Attempts without an answer, or with an error, that were repeated. */
  repeated: number;
}

const LANES = 12;
const PAUSE_MS = 100;
const MAX_WAIT_MS = 120_000;
const CREATED = 201;

export function commandFor(deviceId: number, requestType = 'ManagedMediaList') {
  const device = { data: { type: 'devices', id: deviceId } };
  const attributes = { request_type: requestType };
  return { data: { type: 'commands', attributes, relationships: { device } } };
}

/** One command for each device through the API, repeated until each is confirmed. */
export async function enqueue(api: ApiClient, deviceIds: readonly number[]): Promise<Enqueued> {
  const result = { accepted: 0, repeated: 0 };
  const end = Date.now() + MAX_WAIT_MS;
  let next = 0;
  const lane = async () => {
    for (let id = deviceIds[next++]; id !== undefined; id = deviceIds[next++]) {
      while (!(await isAccepted(api, id))) {
        result.repeated += 1;
        if (Date.now() > end) throw new Error('the server takes no commands');
        await sleep(PAUSE_MS);
      }
      result.accepted += 1;
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return result;
}

/** The devices before the failure begins, and those after it has begun. */
export function inHalves(deviceIds: readonly number[]): [readonly number[], readonly number[]] {
  const middle = Math.ceil(deviceIds.length / 2);
  return [deviceIds.slice(0, middle), deviceIds.slice(middle)];
}

export async function sumOf(parts: readonly Promise<Enqueued>[]): Promise<Enqueued> {
  const all = await Promise.all(parts);
  return {
    accepted: all.reduce((sum, { accepted }) => sum + accepted, 0),
    repeated: all.reduce((sum, { repeated }) => sum + repeated, 0),
  };
}

async function isAccepted(api: ApiClient, deviceId: number): Promise<boolean> {
  const call = { method: 'POST', path: '/commands', body: commandFor(deviceId) } as const;
  const { status, body } = await api.call(call).catch(() => ({ status: 0, body: '' }));
  if (status === CREATED) return true;
  // A server that fails answers 503 and the client retries; any other answer is a bug.
  if (status === 0 || status >= 500) return false;
  throw new Error(`a command was refused with ${status}: ${String(body)}`);
}
