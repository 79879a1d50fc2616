import { once } from 'node:events';

/** Resolves when the signal is, or already was, aborted. */
export async function interruption(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}
