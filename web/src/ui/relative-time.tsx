const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
];
const FORMAT = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

export function relativeTime(time: string, now: number): string {
  const seconds = Math.round((Date.parse(time) - now) / 1000);
  const [unit, size] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? ['second', 1];
  return FORMAT.format(Math.trunc(seconds / size), unit);
}

export function RelativeTime({ time }: { time: string | null | undefined }) {
  if (time == null) return <span>–</span>;
  return (
    <time dateTime={time} title={new Date(time).toLocaleString('en')}>
      {relativeTime(time, Date.now())}
    </time>
  );
}
