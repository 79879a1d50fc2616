import { batchesText } from '../../../text/batches';
import { type Counts, progressOf } from './queries';

const words = batchesText.bar;
const PARTS = ['done', 'failed', 'waiting', 'cancelled'] as const;

/** How far a batch is: a bar, and the same in words. */
export function BatchBar({ counts }: { counts: Counts | null | undefined }) {
  const progress = progressOf(counts);
  const total = PARTS.reduce((sum, part) => sum + progress[part], 0);
  if (total === 0) return <span className="soft">{words.empty}</span>;
  const shown = PARTS.filter((part) => progress[part] > 0);
  return (
    <div className="batch-bar">
      <div className="batch-bar-track" aria-hidden="true">
        {shown.map((part) => (
          <span key={part} data-part={part} style={{ flexGrow: progress[part] }} />
        ))}
      </div>
      <p className="batch-bar-words">
        {shown.map((part) => (
          <span key={part} data-part={part}>
            {words[part](progress[part])}
          </span>
        ))}
      </p>
    </div>
  );
}
