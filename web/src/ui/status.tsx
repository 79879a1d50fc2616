import './status.css';

export type Tone = 'ok' | 'warn' | 'bad' | 'soft';

const SIGNS: Record<Tone, string> = {
  ok: 'M3.5 8.5l3 3 6-7',
  warn: 'M8 3.5v5.5M8 12v.5',
  bad: 'M4 4l8 8M12 4l-8 8',
  soft: 'M4 8h8',
};

/** A state: colour, sign and word, never colour alone. */
export function Status({ tone, children }: { tone: Tone; children: string }) {
  return (
    <span className="status" data-tone={tone}>
      <svg viewBox="0 0 16 16" width="12" height="12" aria-hidden="true">
        <path d={SIGNS[tone]} fill="none" stroke="currentColor" strokeWidth="2" />
      </svg>
      {children}
    </span>
  );
}
