import { queryOptions } from '@tanstack/react-query';
import { call, client } from '../../api/client';
import { LIVE } from '../../api/query-client';
import { isWaiting } from './actions/results';
import type { Device } from './queries';

/** The statuses of commands that were just queued, until none of them waits. */
export function sentQuery(device: number, ids: readonly number[]) {
  return queryOptions({
    queryKey: ['sent', device, ids],
    // They begin as queued, and are read when the interval has passed.
    initialData: ids.map(() => 'Queued'),
    refetchInterval: ({ state: { data } }) =>
      data?.some(isWaiting) === true && LIVE.refetchInterval,
    queryFn: async ({ signal }) => {
      const query = {
        'filter[id]': ids.join(','),
        'fields[commands]': 'status',
        page: { size: ids.length },
      };
      const params = { path: { id: device }, query };
      const { data } = await call(() => client.GET('/devices/{id}/commands', { params, signal }));
      return (data ?? []).map(({ attributes }) => String(attributes.status));
    },
  });
}

/** When the device last acknowledged that it is erased; null: never. */
export function erasureQuery(device: number) {
  return queryOptions({
    ...LIVE,
    queryKey: ['device', device, 'erasure'],
    queryFn: async ({ signal }) => {
      const query = {
        'filter[request_type]': 'EraseDevice',
        'filter[status]': 'Acknowledged',
        'fields[commands]': 'acknowledged_at',
        sort: ['-id'],
        page: { size: 1 },
      };
      const params = { path: { id: device }, query };
      const { data } = await call(() => client.GET('/devices/{id}/commands', { params, signal }));
      return data?.[0]?.attributes.acknowledged_at ?? null;
    },
  });
}

/** The server keeps the enrollment of an erased device: nothing that the device says ends it. */
export function isErasedSince(
  { is_enrolled: isEnrolled, enrolled_at: enrolledAt }: Device,
  acknowledgedAt: string | null | undefined,
): boolean {
  if (isEnrolled !== true || !acknowledgedAt) return false;
  return !enrolledAt || Date.parse(acknowledgedAt) >= Date.parse(enrolledAt);
}
