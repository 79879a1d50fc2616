import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { BatchBar } from '../../../api/batch-bar';
import { ErrorPanel } from '../../../api/error-panel';
import { useMay } from '../../../api/rights';
import { batchesText } from '../../../text/batches';
import { commandsText } from '../../../text/commands';
import { text } from '../../../text/en';
import { AsCurl } from '../../../ui/as-curl';
import { Button } from '../../../ui/button';
import { Empty, Skeleton } from '../../../ui/notice';
import { Page } from '../../../ui/page';
import { type PlainColumn, PlainTable } from '../../../ui/plain-table';
import { Time } from '../../../ui/time';
import { BatchState } from './batch-state';
import { type Batch, batchesQuery } from './queries';
import '../commands.css';

const words = batchesText.list;

const COLUMNS: PlainColumn<Batch>[] = [
  {
    name: 'name',
    label: words.name,
    cell: ({ id, name, request_type: requestType }) => (
      <>
        <Link to="/commands/batches/$id" params={{ id: String(id) }}>
          {name ?? requestType ?? batchesText.batch.fallback(String(id))}
        </Link>
        {name !== null && <p className="soft batch-type">{requestType}</p>}
      </>
    ),
  },
  {
    name: 'state',
    label: words.state,
    isTight: true,
    isMinor: true,
    cell: ({ state }) => <BatchState state={state} />,
  },
  {
    name: 'progress',
    label: words.progress,
    cell: ({ counts }) => <BatchBar counts={counts} />,
  },
  {
    name: 'by',
    label: words.by,
    isMinor: true,
    cell: ({ created_by: by }) => by ?? <span className="soft">–</span>,
  },
  {
    name: 'when',
    label: words.when,
    isTight: true,
    isMinor: true,
    cell: ({ created_at: at }) => <Time at={at} />,
  },
];

export function BatchesPage() {
  const batches = useInfiniteQuery(batchesQuery);
  const canSend = useMay()('createCommandBatch');
  const rows = batches.data?.pages.flatMap((page) => page.rows) ?? [];
  const { total = 0, isEstimate = false } = batches.data?.pages[0] ?? {};
  return (
    <Page
      title={commandsText.title}
      about={
        rows.length > 0 && (
          <span className="soft" role="status">
            {words.shown(rows.length, total, isEstimate)}
          </span>
        )
      }
      aside={
        canSend && (
          <Link to="/commands/new" className="button" data-kind="main">
            {commandsText.send}
          </Link>
        )
      }
    >
      {batches.error !== null && (
        <ErrorPanel error={batches.error} onRetry={() => void batches.refetch()} />
      )}
      {batches.isPending && <Skeleton lines={8} />}
      {batches.isSuccess && rows.length === 0 && (
        <Empty title={words.none}>
          <p>{words.noneWhy}</p>
        </Empty>
      )}
      {rows.length > 0 && <PlainTable label={words.table} columns={COLUMNS} rows={rows} />}
      {batches.hasNextPage && (
        <div>
          <Button
            isPending={batches.isFetchingNextPage}
            onPress={() => void batches.fetchNextPage()}
          >
            {batches.isFetchingNextPage ? commandsText.loadingMore : commandsText.more}
          </Button>
        </div>
      )}
      <AsCurl words={text.curl} requests={[{ path: '/api/v1/command_batches?sort=-id' }]} />
    </Page>
  );
}
