import { queryOptions, useQueryClient } from '@tanstack/react-query';
import type { Schemas } from '../../../api/client';
import { call, client } from '../../../api/client';
import { once, useMutation } from '../../../api/mutation';
import { pathOf } from '../../../api/path-of';
import { LIVE } from '../../../api/query-client';
import { type RowOf, rowsOf } from '../../../api/rows';

export type Backup = RowOf<Schemas['backups_resource']>;

const LIST = { page: { size: 100 }, sort: ['-id'] };
export const BACKUPS_PATH = pathOf('/backups', LIST);

export const backupsQuery = queryOptions({
  ...LIVE,
  queryKey: ['backups'],
  queryFn: async () => {
    return rowsOf(await call(() => client.GET('/backups', { params: { query: LIST } })));
  },
});

export function useMakeBackup() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (_: undefined, key) => call(() => client.POST('/backups', once(key))),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['backups'] }),
  });
}
