import './status.css';

const ICONS = { good: '●', warn: '▲', bad: '■', none: '○' };

export type Tone = keyof typeof ICONS;

/** A shape and a word: never colour alone. */
export function Status({ tone, label }: { tone: Tone; label: string }) {
  return (
    <span className="status" data-tone={tone}>
      <span aria-hidden="true">{ICONS[tone]}</span> {label}
    </span>
  );
}
