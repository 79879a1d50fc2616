const STEPS: [seconds: number, unit: Intl.RelativeTimeFormatUnit][] = [
  [60, 'second'],
  [3600, 'minute'],
  [86_400, 'hour'],
  [30 * 86_400, 'day'],
  [365 * 86_400, 'month'],
  [Number.POSITIVE_INFINITY, 'year'],
];
const PER_UNIT: Record<string, number> = {
  second: 1,
  minute: 60,
  hour: 3600,
  day: 86_400,
  month: 30 * 86_400,
  year: 365 * 86_400,
};
const FORMAT = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

export function relative(time: string, now = Date.now()): string {
  const seconds = (Date.parse(time) - now) / 1000;
  const [, unit] = STEPS.find(([below]) => Math.abs(seconds) < below) ?? [0, 'year' as const];
  return FORMAT.format(Math.round(seconds / (PER_UNIT[unit] ?? 1)), unit);
}

/** Relative; exact on hover. */
export function Time({ at }: { at: string | null | undefined }) {
  if (at === null || at === undefined) return <span className="soft">–</span>;
  return (
    <time dateTime={at} title={new Date(at).toLocaleString('en', { timeZoneName: 'short' })}>
      {relative(at)}
    </time>
  );
}
