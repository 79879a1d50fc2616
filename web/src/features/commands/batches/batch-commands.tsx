import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { useEffect } from 'react';
import type { Counts } from '../../../api/batch-progress';
import { ErrorPanel } from '../../../api/error-panel';
import { batchesText } from '../../../text/batches';
import { commandsText } from '../../../text/commands';
import { Button } from '../../../ui/button';
import { Skeleton } from '../../../ui/notice';
import { Section } from '../../../ui/page';
import { type PlainColumn, PlainTable } from '../../../ui/plain-table';
import { Tabs } from '../../../ui/tabs';
import { Time } from '../../../ui/time';
import { CommandStatus } from './batch-state';
import { answerOf } from './command-answer';
import { type BatchCommand, batchCommandsQuery } from './queries';

const words = batchesText.batch;

const COLUMNS: PlainColumn<BatchCommand>[] = [
  {
    name: 'device',
    label: words.device,
    cell: ({ device }) =>
      device === undefined ? (
        <span className="soft">{words.unknownDevice}</span>
      ) : (
        <Link to="/devices/$id" params={{ id: String(device.id) }}>
          {device.name ?? commandsText.targets.unnamed(device.id)}
        </Link>
      ),
  },
  {
    name: 'status',
    label: words.status,
    isTight: true,
    cell: ({ status }) => <CommandStatus status={status} />,
  },
  {
    name: 'answer',
    label: words.error,
    cell: (command) => answerOf(command) ?? <span className="soft">–</span>,
  },
  {
    name: 'attempts',
    label: words.times,
    isNumber: true,
    isTight: true,
    isMinor: true,
    cell: ({ attempts }) => attempts ?? 0,
  },
  {
    name: 'at',
    label: words.at,
    isTight: true,
    isMinor: true,
    cell: (command) => (
      <Time at={command.acknowledged_at ?? command.sent_at ?? command.queued_at} />
    ),
  },
];

interface Props {
  id: string;
  counts: Counts | null;
  isLive: boolean;
}

/** The commands of a batch, by status. */
export function BatchCommands({ id, counts, isLive }: Props) {
  const { status: wanted } = useSearch({ from: '/commands/batches/$id' });
  const statuses = Object.keys(batchesText.statuses);
  const status = wanted !== undefined && statuses.includes(wanted) ? wanted : undefined;
  const commands = useInfiniteQuery(batchCommandsQuery(id, status, isLive));
  const { refetch } = commands;
  // What the last of them became: the page learned of it after they were read.
  useEffect(() => {
    if (!isLive) void refetch();
  }, [isLive, refetch]);
  const rows = commands.data?.pages.flatMap((page) => page.rows) ?? [];
  const total = Object.values(counts ?? {}).reduce((sum, count) => sum + count, 0);
  const shown = statuses.filter((name) => (counts?.[name] ?? 0) > 0 || name === status);
  return (
    <Section title={words.commands}>
      <Tabs label={words.statusFilter} current={status ?? ''}>
        <Tab status={undefined} label={words.all} count={total} />
        {shown.map((name) => (
          <Tab
            key={name}
            status={name}
            label={batchesText.statuses[name] ?? name}
            count={counts?.[name] ?? 0}
          />
        ))}
      </Tabs>
      {commands.error !== null && (
        <ErrorPanel error={commands.error} onRetry={() => void commands.refetch()} />
      )}
      {commands.isPending && <Skeleton lines={6} />}
      {commands.isSuccess && rows.length === 0 && (
        <p className="soft">{status === undefined ? words.noneYet : words.noCommands}</p>
      )}
      {rows.length > 0 && <PlainTable label={words.commandTable} columns={COLUMNS} rows={rows} />}
      {commands.hasNextPage && (
        <div>
          <Button
            isPending={commands.isFetchingNextPage}
            onPress={() => void commands.fetchNextPage()}
          >
            {commands.isFetchingNextPage ? commandsText.loadingMore : commandsText.more}
          </Button>
        </div>
      )}
    </Section>
  );
}

interface TabProps {
  status: string | undefined;
  label: string;
  count: number;
}

function Tab({ status, label, count }: TabProps) {
  return (
    <Link
      from="/commands/batches/$id"
      to="."
      search={status === undefined ? {} : { status }}
      className="tab"
      resetScroll={false}
      activeOptions={{ exact: true, explicitUndefined: true, includeSearch: true }}
    >
      {label} <span className="soft">{commandsText.number(count)}</span>
    </Link>
  );
}
