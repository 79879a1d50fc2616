/** As people read it: 1.2 MB. */
export function sizeText(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB'];
  let [value, unit] = [bytes, 0];
  for (; value >= 1000 && unit < units.length - 1; unit += 1) value /= 1000;
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}

const PAUSE_MS = 2_000;

/** Writes a line at most every two seconds. */
export function paced(write: (line: string) => void): (line: () => string) => void {
  let last = performance.now();
  return (line) => {
    const now = performance.now();
    if (now - last < PAUSE_MS) return;
    last = now;
    write(line());
  };
}

export function secondsSince(start: number): string {
  return `${((performance.now() - start) / 1000).toFixed(1)} s`;
}
