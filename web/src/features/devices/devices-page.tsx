import { useLocation, useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback, useEffect, useMemo, useState } from 'react';
import { ActionError } from '../../api/action-error';
import { ErrorPanel } from '../../api/error-panel';
import { useMutation } from '../../api/mutation';
import { devicesText as words } from '../../text/devices';
import { text } from '../../text/en';
import { AsCurl } from '../../ui/as-curl';
import { Button } from '../../ui/button';
import { Empty, Skeleton } from '../../ui/notice';
import { Page } from '../../ui/page';
import { Table } from '../../ui/table';
import { DEFAULT_COLUMNS } from './attributes';
import { columnOf } from './cells';
import { ColumnChoice } from './column-choice';
import { FilterBar } from './filter-bar';
import { keepColumns } from './kept-columns';
import { type DeviceRow, listPath, saveCsv, useDevices, useDevicesAsked } from './queries';
import { SavedViews } from './saved-views';
import { type DevicesSearch, nextSort, withWidth } from './search';
import { useSelection } from './selection/selection';
import { SelectionBar } from './selection/selection-bar';
import './devices.css';

export function DevicesPage() {
  const search = useSearch({ from: '/devices' });
  const navigate = useNavigate({ from: '/devices' });
  const ask = useDevicesAsked();
  const change = useCallback(
    (part: Partial<DevicesSearch>) => {
      ask({ ...search, ...part });
      if ('cols' in part || 'w' in part) keepColumns({ ...search, ...part });
      void navigate({ search: (former) => ({ ...former, ...part }), replace: true });
    },
    [navigate, ask, search],
  );
  const shape = { search, columns: search.cols ?? DEFAULT_COLUMNS };
  const { query, isOther, total } = useDevices(shape);
  const csv = useMutation({ mutationFn: saveCsv });
  const rows = useMemo(() => query.data?.pages.flatMap((page) => page.rows) ?? [], [query.data]);
  const count = total === undefined ? '' : words.count(total.count, total.isEstimate);
  const known = total?.count ?? 0;
  const selection = useSelection(JSON.stringify([search.q, search.f]));
  const columns = useMemo(
    () => (search.cols ?? DEFAULT_COLUMNS).map((name) => columnOf(name, search.w?.[name])),
    [search.cols, search.w],
  );
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = query;
  const onEnd = useCallback(() => {
    // Goes before a look at what is loaded, which it ends.
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);

  return (
    <Page
      fill
      title={text.nav.devices}
      about={
        <span className="soft" role="status">
          {count}
        </span>
      }
      aside={
        <>
          <SavedViews />
          <ColumnChoice chosen={shape.columns} onChange={(cols) => change({ cols })} />
          <Button isPending={csv.isPending} onPress={() => csv.mutate(shape)}>
            {words.csv}
          </Button>
        </>
      }
    >
      <Deleted />
      <FilterBar search={search} onChange={change} />
      {csv.error !== null && <ActionError error={csv.error} />}
      {query.error !== null && (
        <ErrorPanel error={query.error} onRetry={() => void query.refetch()} />
      )}
      {query.data === undefined && query.error === null && <Skeleton lines={12} />}
      {query.data !== undefined && rows.length === 0 && (
        <NoDevices
          isFiltered={isFiltered(search)}
          onClear={() => change({ q: undefined, f: undefined })}
        />
      )}
      {rows.length > 0 && (
        <div className="device-list">
          <Table<DeviceRow>
            label={words.table}
            list={JSON.stringify([search.q, search.f, search.sort])}
            columns={columns}
            rows={rows}
            total={total?.count}
            isOther={isOther}
            nameOf={nameOf}
            pathOf={({ id }) => `/devices/${id}`}
            onOpen={({ id }) =>
              void navigate({
                to: '/devices/$id',
                params: { id: String(id) },
                state: { devices: search },
              })
            }
            onEnd={onEnd}
            sort={search.sort}
            onSort={(column) => change({ sort: nextSort(column, search.sort) })}
            onResize={(column, width) => change({ w: withWidth(search.w, column, width) })}
            resizeLabel={words.resize}
            isSelected={selection.has}
            onSelect={selection.toggle}
            selectHead={words.selectedHead}
            selectLabel={words.selectRow}
          />
          {selection.count(known) > 0 && (
            <SelectionBar selection={selection} total={known} count={count} search={search} />
          )}
        </div>
      )}
      <AsCurl words={text.curl} requests={[{ path: listPath(shape) }]} />
    </Page>
  );
}

/** Which device was deleted on its page, which led here. It is said once the line is there. */
function Deleted() {
  const name = useLocation({ select: ({ state }) => state.deleted });
  const [said, setSaid] = useState<string>();
  useEffect(() => setSaid(name), [name]);
  return (
    <p role="status" className={said === undefined ? 'visually-hidden' : 'soft'}>
      {said !== undefined && words.deleted(said)}
    </p>
  );
}

function nameOf(row: DeviceRow): string {
  return row.device_name ?? row.serial_number ?? words.unnamed;
}

function isFiltered({ q, f }: DevicesSearch): boolean {
  return (q ?? '') !== '' || (f ?? []).length > 0;
}

function NoDevices({ isFiltered, onClear }: { isFiltered: boolean; onClear: () => void }) {
  if (!isFiltered) return <Empty title={words.noneAtAll} />;
  return (
    <Empty title={words.none}>
      <p>{words.noneWhy}</p>
      <Button onPress={onClear}>{words.clear}</Button>
    </Empty>
  );
}
