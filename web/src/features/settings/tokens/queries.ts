import { queryOptions, useQueryClient } from '@tanstack/react-query';
import type { Schemas } from '../../../api/client';
import { call, client } from '../../../api/client';
import { useMutation } from '../../../api/mutation';
import { pathOf } from '../../../api/path-of';
import { LIVE } from '../../../api/query-client';
import { type RowOf, rowsOf } from '../../../api/rows';

export type Token = RowOf<Schemas['tokens_resource']>;

const NOT_REVOKED = '{"name":"revoked_at","op":"is","val":null}';
const LIST = { page: { size: 200 }, sort: ['-created_at'], 'filter[]': [NOT_REVOKED] };
export const TOKENS_PATH = pathOf('/tokens', LIST);

export const tokensQuery = queryOptions({
  ...LIVE,
  queryKey: ['tokens'],
  queryFn: async () => {
    return rowsOf(await call(() => client.GET('/tokens', { params: { query: LIST } })));
  },
});

export function useRevokeToken() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ id }: Token) =>
      call(() => client.POST('/tokens/{id}/revoke', { params: { path: { id } } })),
    onSuccess: () => queries.invalidateQueries(),
  });
}
