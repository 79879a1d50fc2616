import {
  infiniteQueryOptions,
  keepPreviousData,
  queryOptions,
  useInfiniteQuery,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query';
import { useCallback } from 'react';
import type { Schemas } from '../../api/client';
import { call, client } from '../../api/client';
import { saveFile } from '../../api/files';
import { cursorOf } from '../../api/pages';
import { LIVE } from '../../api/query-client';
import { type Query, queryString } from '../../api/query-string';
import { type RowOf, rowsOf } from '../../api/rows';
import { DEFAULT_COLUMNS } from './attributes';
import { apiRules, type DevicesSearch } from './search';

export type DeviceRow = RowOf<Schemas['devices_resource']>;

const PAGE_SIZE = 100;
/** So many loaded pages, each of which is a request, are looked at as often as one. */
const PAGES_AT_ONCE = 4;

export interface ListShape {
  search: DevicesSearch;
  columns: readonly string[];
}

/** Filter, sort and fields as the API takes them; also what "as curl" and the CSV show. */
export function listParameters({ search, columns }: ListShape): Query {
  const rules = apiRules(search);
  const fields = [...new Set(['device_name', 'serial_number', ...columns])];
  const parameters: Query = { fields: { devices: fields.join(',') } };
  if (rules.length > 0) parameters['filter[]'] = [JSON.stringify(rules)];
  if (search.sort !== undefined) parameters.sort = search.sort;
  return parameters;
}

export function listPath(shape: ListShape): string {
  return `/api/v1/devices?${queryString(listParameters(shape))}`;
}

/** All devices that match, with the columns of the list, as a file. */
export function saveCsv(shape: ListShape): Promise<void> {
  const day = new Date().toISOString().slice(0, 10);
  return saveFile(listPath(shape), `devices-${day}.csv`, 'text/csv');
}

function devicesQuery(shape: ListShape) {
  return infiniteQueryOptions({
    ...LIVE,
    queryKey: ['devices', 'list', listParameters(shape)],
    initialPageParam: '',
    placeholderData: keepPreviousData,
    queryFn: async ({ pageParam, signal }) => {
      const page = { size: PAGE_SIZE, after: pageParam, total: 'none' };
      const document = await getDevices({ ...listParameters(shape), page }, signal);
      return {
        rows: rowsOf(document),
        total: totalOf(document),
        next: cursorOf(document.links?.next),
      };
    },
    getNextPageParam: (last) => last.next,
    refetchInterval: ({ state: { data } }) =>
      LIVE.refetchInterval * Math.ceil((data?.pages.length ?? 1) / PAGES_AT_ONCE),
  });
}

function countQuery({ search }: ListShape) {
  const { sort: _, ...filters } = listParameters({ search, columns: [] });
  return queryOptions({
    ...LIVE,
    queryKey: ['devices', 'count', filters],
    queryFn: async ({ signal }) =>
      totalOf(await getDevices({ ...filters, page: { size: 1 } }, signal)) ?? null,
  });
}

async function getDevices(query: Query, signal: AbortSignal) {
  return await call(() => client.GET('/devices', { params: { query: query as never }, signal }));
}

export interface Total {
  count: number;
  isEstimate: boolean;
}

function totalOf({ meta }: Awaited<ReturnType<typeof getDevices>>): Total | undefined {
  const { total, total_is_estimate: isEstimate = false } = meta;
  return total === undefined ? undefined : { count: total, isEstimate };
}

/** Asks for the devices of a search before the page shows it: rendering takes as long as the answer. */
export function useDevicesAsked(): (search: DevicesSearch) => void {
  const queries = useQueryClient();
  return useCallback(
    (search) => {
      const columns = search.cols ?? DEFAULT_COLUMNS;
      void queries.prefetchInfiniteQuery(devicesQuery({ search, columns }));
    },
    [queries],
  );
}

/** The rows, and how many match: counting takes longer, so the rows are shown before. */
export function useDevices(shape: ListShape) {
  const query = useInfiniteQuery(devicesQuery(shape));
  const isOther = query.isPlaceholderData;
  const first = isOther ? undefined : query.data?.pages[0];
  const isUncounted = first !== undefined && first.total === undefined;
  const counted = useQuery({ ...countQuery(shape), enabled: isUncounted });
  return { query, isOther, total: isUncounted ? (counted.data ?? undefined) : first?.total };
}
