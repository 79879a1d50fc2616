import { infiniteQueryOptions, keepPreviousData } from '@tanstack/react-query';
import { client, documentOf } from '../../api/client.js';
import { cursorOf, type ListQuery, queryString } from '../../api/query-string.js';
import type { components } from '../../api/schema.js';
import type { DeviceListState } from './list-state.js';

export type Device = components['schemas']['devices_resource'] & { id: number };

const SHOWN = [
  ...['device_name', 'serial_number', 'health', 'platform', 'os_version', 'model_name'],
  'last_seen',
];
const PAGE = 100;
const FRESH_EVERY = 5000;

export function deviceList({ search, health, sort }: DeviceListState) {
  const rules = health === '' ? [] : [{ name: 'health', op: 'eq', val: health }];
  const query: ListQuery = { fields: { devices: SHOWN }, search, rules, sort, size: PAGE };
  return infiniteQueryOptions({
    queryKey: ['devices', query],
    queryFn: async ({ pageParam, signal }) =>
      documentOf(
        await client.GET('/api/v1/devices', {
          signal,
          querySerializer: () => queryString({ ...query, after: pageParam }),
        }),
      ),
    initialPageParam: '',
    getNextPageParam: ({ links }) =>
      cursorOf((links as { next?: string | null } | undefined)?.next),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) > 1 ? false : FRESH_EVERY),
  });
}
