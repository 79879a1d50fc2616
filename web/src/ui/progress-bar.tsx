import './progress-bar.css';

interface Part {
  tone: 'ok' | 'bad' | 'waiting' | 'soft';
  count: number;
  /** The count in words. */
  words: string;
}

/** How far something is: a bar of its parts, and the same in words. Parts of none are left out. */
export function ProgressBar({ parts }: { parts: readonly Part[] }) {
  const shown = parts.filter(({ count }) => count > 0);
  return (
    <div className="progress">
      <div className="progress-track" aria-hidden="true">
        {shown.map(({ tone, count }) => (
          <span key={tone} data-tone={tone} style={{ flexGrow: count }} />
        ))}
      </div>
      <p className="progress-words">
        {shown.map(({ tone, words }) => (
          <span key={tone} data-tone={tone}>
            {words}
          </span>
        ))}
      </p>
    </div>
  );
}
