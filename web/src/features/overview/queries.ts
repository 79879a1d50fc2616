import { queryOptions } from '@tanstack/react-query';
import { call, client } from '../../api/client';
import { pathOf } from '../../api/path-of';
import { LIVE } from '../../api/query-client';
import { rowsOf } from '../../api/rows';
import { credentialsQuery as serverCredentialsQuery } from '../../api/server';

export const FACETS = ['platform', 'model_name'] as const;

/** They change by the day, and counting what uses them takes a large database long. */
export const credentialsQuery = { ...serverCredentialsQuery, refetchInterval: 60_000 };

export const healthQuery = queryOptions({
  ...LIVE,
  queryKey: ['health_summary'],
  queryFn: async () => (await call(() => client.GET('/health_summary'))).data.attributes,
});

const FACETS_QUERY = {
  by: [...FACETS],
  'filter[]': ['{"name":"is_enrolled","op":"eq","val":true}'],
};

export const facetsQuery = queryOptions({
  ...LIVE,
  queryKey: ['devices', 'facets', FACETS],
  queryFn: async () => {
    const params = { query: FACETS_QUERY };
    return (await call(() => client.GET('/devices/facets', { params }))).meta;
  },
});

function versionsOf(platform: string) {
  const ofPlatform = JSON.stringify({ name: 'platform', op: 'eq', val: platform });
  return { by: ['os_version' as const], 'filter[]': [...FACETS_QUERY['filter[]'], ofPlatform] };
}

/** The OS versions of one platform: those of several say nothing side by side. */
export function versionsQuery(platform: string) {
  return queryOptions({
    ...LIVE,
    refetchInterval: 30_000,
    queryKey: ['devices', 'facets', 'os_version', platform],
    queryFn: async () => {
      const params = { query: versionsOf(platform) };
      return (await call(() => client.GET('/devices/facets', { params }))).meta;
    },
  });
}

const RUNNING = {
  page: { size: 10 },
  sort: ['-id'],
  'filter[]': ['{"name":"state","op":"in","val":["expanding","running"]}'],
};

export const runningBatchesQuery = queryOptions({
  ...LIVE,
  queryKey: ['command_batches', 'running'],
  queryFn: async () => {
    const params = { query: RUNNING };
    return rowsOf(await call(() => client.GET('/command_batches', { params })));
  },
});

/** What the page asks, each with the name of its part. */
export const OVERVIEW_PATHS = {
  health: pathOf('/health_summary'),
  credentials: pathOf('/credentials'),
  batches: pathOf('/command_batches', RUNNING),
  platform: pathOf('/devices/facets', FACETS_QUERY),
  os_version: pathOf('/devices/facets', versionsOf('macOS')),
};
