import { Link } from '@tanstack/react-router';
import { batchesText } from '../../../text/batches';
import { commandsText } from '../../../text/commands';
import { Section } from '../../../ui/page';
import { type PlainColumn, PlainTable } from '../../../ui/plain-table';
import { CommandStatus } from './batch-state';
import type { Failure } from './queries';

const words = batchesText.batch;

type Row = Failure & { id: string };

const COLUMNS: PlainColumn<Row>[] = [
  {
    name: 'error',
    label: words.errorText,
    cell: ({ error, message }) => (
      <>
        {message ?? error ?? '–'}
        {message !== null && error !== null && (
          <p className="soft">
            <code>{error}</code>
          </p>
        )}
      </>
    ),
  },
  {
    name: 'status',
    label: words.status,
    isTight: true,
    cell: ({ status }) => <CommandStatus status={status} />,
  },
  {
    name: 'count',
    label: words.errorCount,
    isNumber: true,
    isTight: true,
    cell: ({ status, count }) => (
      <Link
        from="/commands/batches/$id"
        to="."
        search={{ status }}
        resetScroll={false}
        aria-label={words.show(count)}
      >
        {commandsText.number(count)}
      </Link>
    ),
  },
];

export function BatchFailures({ failures }: { failures: readonly Failure[] }) {
  const rows = failures.map((failure) => ({
    ...failure,
    id: `${failure.status} ${failure.error} ${failure.message}`,
  }));
  return (
    <Section title={words.failures}>
      <PlainTable label={words.failureTable} columns={COLUMNS} rows={rows} />
    </Section>
  );
}
