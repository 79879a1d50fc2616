import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import type { Schemas } from '../../../api/client';
import { call, client } from '../../../api/client';
import { LIVE } from '../../../api/query-client';
import { type RowOf, rowsOf } from '../../../api/rows';

export type Backup = RowOf<Schemas['backups_resource']>;

export const backupsQuery = queryOptions({
  ...LIVE,
  queryKey: ['backups'],
  queryFn: async () => {
    const query = { page: { size: 100 }, sort: ['-id'] };
    return rowsOf(await call(() => client.GET('/backups', { params: { query } })));
  },
});

export function useMakeBackup() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: () => call(() => client.POST('/backups', {})),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['backups'] }),
  });
}
