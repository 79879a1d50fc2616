import { infiniteQueryOptions, keepPreviousData } from '@tanstack/react-query';
import type { Schemas } from '../../api/client';
import { call, client } from '../../api/client';
import { saveFile } from '../../api/files';
import { cursorOf } from '../../api/pages';
import { LIVE } from '../../api/query-client';
import { type Query, queryString } from '../../api/query-string';
import { type RowOf, rowsOf } from '../../api/rows';
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
  return saveFile(listPath(shape), 'GET', `devices-${day}.csv`, 'text/csv');
}

export function devicesQuery(shape: ListShape) {
  return infiniteQueryOptions({
    ...LIVE,
    queryKey: ['devices', 'list', listParameters(shape)],
    initialPageParam: '',
    placeholderData: keepPreviousData,
    queryFn: async ({ pageParam, signal }) => {
      const query = { ...listParameters(shape), page: { size: PAGE_SIZE, after: pageParam } };
      const document = await call(() =>
        client.GET('/devices', { params: { query: query as never }, signal }),
      );
      const { links, meta } = document as unknown as ListDocument;
      return { rows: rowsOf(document), meta, next: cursorOf(links?.next) };
    },
    getNextPageParam: (last) => last.next,
    refetchInterval: ({ state: { data } }) =>
      LIVE.refetchInterval * Math.ceil((data?.pages.length ?? 1) / PAGES_AT_ONCE),
  });
}

interface ListDocument {
  links?: { next?: string | null };
  meta?: { total?: number; total_is_estimate?: boolean };
}
