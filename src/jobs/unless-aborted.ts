/** Settles as `work` does, or with undefined once the signal is aborted. Leaves no listener to it. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  if (signal.aborted) return Promise.resolve(undefined);
  return new Promise((resolve, reject) => {
    const stop = () => resolve(undefined);
    signal.addEventListener('abort', stop, { once: true });
    work.finally(() => signal.removeEventListener('abort', stop)).then(resolve, reject);
  });
}
