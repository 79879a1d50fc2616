import { queryOptions, useQueryClient } from '@tanstack/react-query';
import type { Schemas } from '../../../api/client';
import { call, client } from '../../../api/client';
import { once, useMutation } from '../../../api/mutation';
import { pathOf } from '../../../api/path-of';
import { LIVE } from '../../../api/query-client';
import { type RowOf, rowsOf } from '../../../api/rows';

export type Job = RowOf<Schemas['jobs_resource']>;

export const JOB_STATUSES = ['waiting', 'scheduled', 'running', 'retrying', 'dead'] as const;

function parametersOf(status: string | undefined) {
  const rules = status === undefined ? [] : [{ name: 'status', op: 'eq', val: status }];
  return {
    page: { size: 200 },
    sort: ['-id'],
    'filter[]': rules.map((rule) => JSON.stringify(rule)),
  };
}

export function jobsPath(status: string | undefined): string {
  return pathOf('/jobs', parametersOf(status));
}

export function jobsQuery(status: string | undefined) {
  return queryOptions({
    ...LIVE,
    queryKey: ['jobs', status ?? 'all'],
    queryFn: async () => {
      const query = parametersOf(status);
      const document = await call(() => client.GET('/jobs', { params: { query } }));
      return { rows: rowsOf(document), total: document.meta.total ?? 0 };
    },
  });
}

/** Makes the jobs due now, one after the other. */
export function useRetry() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async (jobs: readonly Job[], key) => {
      for (const { id } of jobs) {
        const params = { path: { id } };
        await call(() => client.POST('/jobs/{id}/retry', { params, ...once(`${key}-${id}`) }));
      }
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['jobs'] }),
  });
}
