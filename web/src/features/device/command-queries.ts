import { queryOptions } from '@tanstack/react-query';
import { call, client } from '../../api/client';
import { LIVE } from '../../api/query-client';
import { isWaiting } from './actions/results';

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
