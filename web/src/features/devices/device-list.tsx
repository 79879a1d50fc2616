import { useInfiniteQuery } from '@tanstack/react-query';
import { useCallback, useEffect, useState } from 'react';
import { ApiError } from '../../api/client.js';
import { text } from '../../text/en.js';
import { DataTable } from '../../ui/data-table.js';
import { Notice } from '../../ui/notice.js';
import { deviceColumns } from './columns.js';
import './device-list.css';
import { type DeviceListState, readListState, writeListState } from './list-state.js';
import { type Device, deviceList } from './queries.js';

const TYPING = 200;
const words = text.devices;

export function DeviceList() {
  const [state, setState] = useListState();
  const { data, error, refetch, hasNextPage, isFetching, fetchNextPage } = useInfiniteQuery(
    deviceList(state),
  );
  const rows = (data?.pages.flatMap((page) => page.data ?? []) ?? []) as Device[];
  const meta = (data?.pages[0]?.meta ?? {}) as { total?: number; total_is_estimate?: boolean };
  const readOn = useCallback(() => {
    if (hasNextPage && !isFetching) void fetchNextPage();
  }, [hasNextPage, isFetching, fetchNextPage]);
  const isNarrowed = state.search !== '' || state.health !== '';

  return (
    <section className="device-list" aria-labelledby="devices-heading">
      <h1 id="devices-heading">{words.title}</h1>
      <Filters state={state} onChange={setState} />
      <output>
        {data && words.found(meta.total ?? rows.length, meta.total_is_estimate === true)}
      </output>
      {error !== null && <Failure error={error} onRetry={() => void refetch()} />}
      {data && rows.length === 0 && <Notice lines={[isNarrowed ? words.noMatch : words.none]} />}
      {rows.length > 0 && (
        <DataTable
          label={words.title}
          columns={deviceColumns}
          rows={rows}
          total={meta.total ?? rows.length}
          keyOf={({ id }) => id}
          sort={state.sort}
          onSort={(sort) => setState({ ...state, sort })}
          onEnd={readOn}
        />
      )}
    </section>
  );
}

interface FilterProps {
  state: DeviceListState;
  onChange: (state: DeviceListState) => void;
}

function Filters({ state, onChange }: FilterProps) {
  const [typed, setTyped] = useState(state.search);
  useEffect(() => {
    const timer = setTimeout(
      () => typed !== state.search && onChange({ ...state, search: typed }),
      TYPING,
    );
    return () => clearTimeout(timer);
  }, [typed, state, onChange]);
  return (
    <search>
      <form onSubmit={(event) => event.preventDefault()}>
        <input
          type="search"
          aria-label={words.search}
          placeholder={words.search}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
        <select
          aria-label={words.health}
          value={state.health}
          onChange={(event) => onChange({ ...state, health: event.target.value })}
        >
          <option value="">{`${words.health}: ${words.allHealth}`}</option>
          <option value="ok">{words.states.ok}</option>
          <option value="attention">{words.states.attention}</option>
          <option value="stuck">{words.states.stuck}</option>
        </select>
      </form>
    </search>
  );
}

function Failure({ error, onRetry }: { error: Error; onRetry: () => void }) {
  const id = error instanceof ApiError ? error.requestId : null;
  return (
    <Notice kind="error" lines={[error.message, ...(id === null ? [] : [text.requestId(id)])]}>
      <button type="button" onClick={onRetry}>
        {text.retry}
      </button>
    </Notice>
  );
}

function useListState() {
  const [state, setState] = useState(() => readListState(location.search));
  const change = useCallback((next: DeviceListState) => {
    history.replaceState(null, '', `/devices${writeListState(next)}`);
    setState(next);
  }, []);
  return [state, change] as const;
}
