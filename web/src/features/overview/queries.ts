import { queryOptions } from '@tanstack/react-query';
import { call, client } from '../../api/client';
import { LIVE } from '../../api/query-client';
import { rowsOf } from '../../api/rows';

export const FACETS = ['platform', 'os_version', 'model_name'] as const;

export const healthQuery = queryOptions({
  ...LIVE,
  queryKey: ['health_summary'],
  queryFn: async () => (await call(() => client.GET('/health_summary'))).data.attributes,
});

export const facetsQuery = queryOptions({
  ...LIVE,
  queryKey: ['devices', 'facets', FACETS],
  queryFn: async () => {
    const query = { by: [...FACETS], 'filter[]': ['{"name":"is_enrolled","op":"eq","val":true}'] };
    return (await call(() => client.GET('/devices/facets', { params: { query } }))).meta;
  },
});

export const credentialsQuery = queryOptions({
  queryKey: ['credentials'],
  queryFn: async () => (await call(() => client.GET('/credentials'))).data.attributes,
});

export const runningBatchesQuery = queryOptions({
  ...LIVE,
  queryKey: ['command_batches', 'running'],
  queryFn: async () => {
    const query = {
      page: { size: 10 },
      sort: ['-id'],
      'filter[]': ['{"name":"state","op":"in","val":["expanding","running"]}'],
    };
    return rowsOf(await call(() => client.GET('/command_batches', { params: { query } })));
  },
});
