import { useSyncExternalStore } from 'react';
import { text } from '../text/en';

/** A page that asks nothing still learns within this time that the server is gone. */
const QUIET = 3_000;
const TICK = 1_000;
const PROBE_WITHIN = 3_000;

type Listener = (isReached: boolean) => void;

let isReached = true;
let lastContact = Date.now();
const listeners = new Set<Listener>();

/** No answer came: the server is stopped, or the network is gone. */
export class ConnectionError extends Error {
  constructor() {
    super(text.error.unreachable);
  }
}

function note(reached: boolean): void {
  lastContact = Date.now();
  if (reached === isReached) return;
  isReached = reached;
  for (const listener of listeners) listener(isReached);
}

/** `fetch`, which notes whether the server can be reached. */
export async function reach(input: Request | string, init?: RequestInit): Promise<Response> {
  try {
    const response = await fetch(input, init);
    note(true);
    return response;
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    note(false);
    throw new ConnectionError();
  }
}

/** Asks the server for a sign of life. */
export async function probe(): Promise<boolean> {
  const signal = AbortSignal.timeout(PROBE_WITHIN);
  return reach('/healthz', { signal, cache: 'no-store' }).then(
    () => true,
    () => false,
  );
}

export function onConnection(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Resolves once the server can be reached. */
export function reached(): Promise<void> {
  if (isReached) return Promise.resolve();
  return new Promise((resolve) => {
    const stop = onConnection(() => {
      stop();
      resolve();
    });
  });
}

export function useIsReached(): boolean {
  return useSyncExternalStore(onConnection, () => isReached);
}

/** Looks again and again whether the server answers, while the page is seen and nothing else asks. */
export function watchConnection(): () => void {
  let isProbing = false;
  const look = async () => {
    if (isProbing) return;
    isProbing = true;
    await probe();
    isProbing = false;
  };
  const timer = setInterval(() => {
    if (!document.hidden && Date.now() - lastContact > QUIET) void look();
  }, TICK);
  addEventListener('online', look);
  addEventListener('offline', look);
  return () => {
    clearInterval(timer);
    removeEventListener('online', look);
    removeEventListener('offline', look);
  };
}
