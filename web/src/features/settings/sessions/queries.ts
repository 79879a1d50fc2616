import { queryOptions, useQueryClient } from '@tanstack/react-query';
import type { Schemas } from '../../../api/client';
import { call, client } from '../../../api/client';
import { useMutation } from '../../../api/mutation';
import { pathOf } from '../../../api/path-of';
import { LIVE } from '../../../api/query-client';
import { type RowOf, rowsOf } from '../../../api/rows';

export type Session = RowOf<Schemas['sessions_resource']>;

const LIST = { page: { size: 200 }, sort: ['-created_at'] };
export const SESSIONS_PATH = pathOf('/sessions', LIST);

export const sessionsQuery = queryOptions({
  ...LIVE,
  queryKey: ['sessions'],
  queryFn: async () => {
    return rowsOf(await call(() => client.GET('/sessions', { params: { query: LIST } })));
  },
});

export function useRevoke() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ id }: Session) =>
      call(() => client.DELETE('/sessions/{id}', { params: { path: { id } } })),
    // Of the own session, the next answer is 401: the shell then shows the sign-in.
    onSuccess: () => queries.invalidateQueries(),
  });
}
