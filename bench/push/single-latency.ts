import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiClient } from '../load/api-client.js';
import { type Quantiles, quantilesOf } from '../load/measure.js';
import { commandFor } from '../soak/enqueue.js';
import type { Fixture } from '../soak/fixture.js';
import { DeviceEnds } from './device-ends.js';

/** Milliseconds, of single commands with nothing else to do. */
export interface SingleLatency {
  /** From the call to its 201, which follows the commit. */
  answered: Quantiles;
  /** From the call to the arrival of the push at the device. */
  pushed: Quantiles;
  /** From the 201 to that arrival: below zero when the push was faster. */
  afterAnswer: Quantiles;
}

/** Longer than the minimum time between two notifications of other processes. */
const PAUSE_MS = 80;

/** One command after the other, each for another device. */
export async function measureSingles(fixture: Fixture, commands: number): Promise<SingleLatency> {
  const ids = fixture.devices.slice(0, commands);
  const ends = await DeviceEnds.connect(fixture.standIn, ids);
  const times = { answered: [], pushed: [], afterAnswer: [] } as Record<string, number[]>;
  try {
    for (const id of ids) {
      await sleep(PAUSE_MS);
      const arrival = ends.next(id);
      const startedAt = performance.now();
      const answeredAt = await queue(fixture.api, id);
      const arrivedAt = await arrival;
      times.answered?.push(answeredAt - startedAt);
      times.pushed?.push(arrivedAt - startedAt);
      times.afterAnswer?.push(arrivedAt - answeredAt);
    }
  } finally {
    await ends.close();
  }
  const { answered = [], pushed = [], afterAnswer = [] } = times;
  return {
    answered: quantilesOf(answered),
    pushed: quantilesOf(pushed),
    afterAnswer: quantilesOf(afterAnswer),
  };
}

async function queue(api: ApiClient, deviceId: number): Promise<number> {
  const call = { method: 'POST', path: '/commands', body: commandFor(deviceId) } as const;
  const { status, body } = await api.call(call);
  if (status !== 201) throw new Error(`a command was refused with ${status}: ${body}`);
  return performance.now();
}
