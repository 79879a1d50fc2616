import type { ReactNode } from 'react';
import { batchesText } from '../../../text/batches';
import { Facts } from '../../../ui/facts';
import { Time } from '../../../ui/time';
import type { Batch } from './queries';

const words = batchesText.batch;

/** What was sent, by whom and when; options only where they were set. */
export function BatchFacts({ batch }: { batch: Batch }) {
  const { request_type: requestType, parameters, priority, ttl, spread } = batch;
  const keys = Object.keys(parameters ?? {});
  const optional = [
    [words.finishedAt, batch.finished_at && <Time at={batch.finished_at} />],
    [words.after, batch.after && <Time at={batch.after} />],
    [words.expiresAt, batch.expires_at && <Time at={batch.expires_at} />],
    [words.priority, priority],
    [words.ttl, ttl],
    [words.spread, spread ? words.spreadMinutes(spread) : null],
  ] as const;
  return (
    <Facts
      entries={[
        [words.requestType, <code key="type">{requestType}</code>],
        [
          words.parameters,
          keys.length === 0 ? (
            <span key="none" className="soft">
              {words.noParameters}
            </span>
          ) : (
            // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
            <pre key="parameters" className="batch-parameters" tabIndex={0}>
              {JSON.stringify(parameters, null, 2)}
            </pre>
          ),
        ],
        [words.createdBy, batch.created_by ?? '–'],
        [words.createdAt, <Time key="at" at={batch.created_at} />],
        ...optional.flatMap(([label, value]) =>
          value === null || value === undefined || value === ''
            ? []
            : [[label, value] as [string, ReactNode]],
        ),
      ]}
    />
  );
}
