import { queryOptions } from '@tanstack/react-query';
import { call, client } from './client';
import { LIVE } from './query-client';

/** What more than one page shows of the server itself. */
export const credentialsQuery = queryOptions({
  ...LIVE,
  queryKey: ['credentials'],
  queryFn: async () => (await call(() => client.GET('/credentials'))).data.attributes,
});

/** It asks what is around the server: up to 20 seconds, so not again and again. */
export const doctorQuery = queryOptions({
  queryKey: ['doctor'],
  staleTime: 60_000,
  queryFn: async () => (await call(() => client.GET('/doctor'))).data.attributes,
});

export const organizationQuery = queryOptions({
  queryKey: ['organization'],
  queryFn: async () =>
    (await call(() => client.GET('/configuration/organization'))).data?.attributes ?? {},
});
