import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiClient } from '../load/api-client.js';

export interface Enqueued {
  /** Commands that the server said it had taken. */
  accepted: number;
  /** Attempts that got no answer or another one, and were made again. */
  repeated: number;
}

const LANES = 12;
const PAUSE_MS = 100;
const PATIENCE_MS = 120_000;
const CREATED = 201;

export function commandFor(deviceId: number) {
  const device = { data: { type: 'devices', id: deviceId } };
  const attributes = { request_type: 'ProvisioningProfileList' };
  return { data: { type: 'commands', attributes, relationships: { device } } };
}

async function isAccepted(api: ApiClient, deviceId: number): Promise<boolean> {
  const call = { method: 'POST', path: '/commands', body: commandFor(deviceId) } as const;
  const { status, body } = await api.call(call).catch(() => ({ status: 0, body: '' }));
  if (status === CREATED) return true;
  // A server that is in trouble says so, and the client comes again; anything else is a fault here.
  if (status === 0 || status >= 500) return false;
  throw new Error(`a command was refused with ${status}: ${String(body)}`);
}

/** One command for each device through the API, again and again until each was taken. */
export async function enqueue(api: ApiClient, deviceIds: readonly number[]): Promise<Enqueued> {
  const result = { accepted: 0, repeated: 0 };
  const end = Date.now() + PATIENCE_MS;
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

/** Some for before the trouble, and the others for after it has begun. */
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
