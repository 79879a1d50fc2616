/** As a shell reports the end by a signal. */
const EXIT_CODES: Partial<Record<NodeJS.Signals, number>> = {
  SIGHUP: 129,
  SIGINT: 130,
  SIGTERM: 143,
};
const SIGNALS = Object.keys(EXIT_CODES) as NodeJS.Signals[];

const pending = new Set<() => void>();

function onExit(): void {
  for (const action of pending) action();
}

function onSignal(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) === 1) process.exit(EXIT_CODES[signal] ?? 1);
}

function watch(): void {
  process.on('exit', onExit);
  for (const signal of SIGNALS) process.on(signal, onSignal);
}

function unwatch(): void {
  process.off('exit', onExit);
  for (const signal of SIGNALS) process.off(signal, onSignal);
}

/**
 * Runs `action` when the process ends without having stopped the server: by falling off its end,
 * by an exception, or by a signal nobody else handles. Returns how to forget about it.
 */
export function atProcessEnd(action: () => void): () => void {
  if (pending.size === 0) watch();
  pending.add(action);
  return () => {
    pending.delete(action);
    if (pending.size === 0) unwatch();
  };
}
