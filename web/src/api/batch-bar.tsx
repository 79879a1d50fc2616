import { batchesText } from '../text/batches';
import { ProgressBar } from '../ui/progress-bar';
import { type Counts, progressOf } from './batch-progress';

const words = batchesText.bar;

/** How far a batch is. */
export function BatchBar({ counts }: { counts: Counts | null | undefined }) {
  const { done, failed, waiting, cancelled } = progressOf(counts);
  if (done + failed + waiting + cancelled === 0) return <span className="soft">{words.empty}</span>;
  return (
    <ProgressBar
      parts={[
        { tone: 'ok', count: done, words: words.done(done) },
        { tone: 'bad', count: failed, words: words.failed(failed) },
        { tone: 'waiting', count: waiting, words: words.waiting(waiting) },
        { tone: 'soft', count: cancelled, words: words.cancelled(cancelled) },
      ]}
    />
  );
}
