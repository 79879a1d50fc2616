import { getEventListeners } from 'node:events';
import { unlessAborted } from '../../src/jobs/job-runner.js';

const never = new Promise<string>(() => undefined);

function listeners(signal: AbortSignal): number {
  return getEventListeners(signal, 'abort').length;
}

describe('work unless it is aborted', () => {
  it('leaves no listener behind, however often it is called', async () => {
    const { signal } = new AbortController();
    const failure = new Error('it failed');
    for (let time = 0; time < 20; time += 1) {
      expect(await unlessAborted(Promise.resolve('done'), signal)).toBe('done');
      await expect(unlessAborted(Promise.reject(failure), signal)).rejects.toBe(failure);
    }
    expect(listeners(signal)).toBe(0);
  });

  it('resolves when the signal is aborted, and at once afterwards', async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const waiting = unlessAborted(never, signal);
    expect(listeners(signal)).toBe(1);
    controller.abort();
    expect(await waiting).toBeUndefined();
    expect(listeners(signal)).toBe(0);
    expect(await unlessAborted(never, signal)).toBeUndefined();
  });
});
