import { useInfiniteQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ErrorPanel } from '../../../api/error-panel';
import { deviceText as words } from '../../../text/device';
import { Button } from '../../../ui/button';
import { Empty, Skeleton } from '../../../ui/notice';
import { type ListName, type ListRow, listQuery } from '../queries';

interface Props<Name extends ListName> {
  id: number;
  name: Name;
  empty: string;
  children: (rows: ListRow<Name>[]) => ReactNode;
}

/** A list of the device, page by page: loads and fails by itself. */
export function MoreRows<Name extends ListName>({ id, name, empty, children }: Props<Name>) {
  const query = useInfiniteQuery(listQuery(id, name));
  const rows = query.data?.pages.flatMap((page) => page.rows) ?? [];
  const total = query.data?.pages[0]?.total ?? 0;
  if (query.data === undefined) {
    if (query.error === null) return <Skeleton lines={8} />;
    return <ErrorPanel error={query.error} onRetry={() => void query.refetch()} />;
  }
  return (
    <>
      {rows.length === 0 ? <Empty title={empty} /> : children(rows)}
      <div className="more-rows">
        <span role="status" className="soft">
          {rows.length > 0 && words.shown(rows.length, total)}
        </span>
        {query.hasNextPage && (
          <Button isPending={query.isFetchingNextPage} onPress={() => void query.fetchNextPage()}>
            {words.more}
          </Button>
        )}
      </div>
    </>
  );
}
