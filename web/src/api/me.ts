import { queryOptions } from '@tanstack/react-query';
import { call, client } from './client';
import { isApiError } from './errors';
import type { paths } from './schema';

export const ME_KEY = ['me'] as const;

type Answer = paths['/me']['get']['responses'][200]['content']['application/vnd.api+json'];
export type Me = NonNullable<NonNullable<Answer['data']>['attributes']>;

/** Null where nobody is signed in. */
export const meQuery = queryOptions({
  queryKey: ME_KEY,
  staleTime: 60_000,
  queryFn: async (): Promise<Me | null> => {
    try {
      const { data } = await call(() => client.GET('/me'));
      return data?.attributes ?? null;
    } catch (error) {
      if (isApiError(error) && error.status === 401) return null;
      throw error;
    }
  },
});
