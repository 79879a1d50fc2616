import { queryOptions } from '@tanstack/react-query';
import { call, client } from '../../../api/client';
import { pathOf } from '../../../api/path-of';
import { LIVE } from '../../../api/query-client';
import { rowsOf } from '../../../api/rows';

export const scepQuery = queryOptions({
  queryKey: ['configuration', 'scep'],
  queryFn: async () => (await call(() => client.GET('/configuration/scep'))).data?.attributes ?? {},
});

const FIELDS =
  'server_name,org_name,status,status_advice,access_token_expiry,sync_finished_at,is_lab';

const ACCOUNTS = { page: { size: 100 }, sort: ['id'], fields: { dep_accounts: FIELDS } };
export const DEP_ACCOUNTS_PATH = pathOf('/dep/accounts', ACCOUNTS);

export const depAccountsQuery = queryOptions({
  ...LIVE,
  queryKey: ['dep_accounts', 'list'],
  queryFn: async () => {
    return rowsOf(await call(() => client.GET('/dep/accounts', { params: { query: ACCOUNTS } })));
  },
});
