import { queryOptions } from '@tanstack/react-query';
import { callOnce, client } from './client';
import { isApiError } from './errors';
import type { paths } from './schema';

export const ME_KEY = ['me'] as const;

type Answer = paths['/me']['get']['responses'][200]['content']['application/vnd.api+json'];
export type Me = NonNullable<NonNullable<Answer['data']>['attributes']>;

/** Null where nobody is signed in. Once somebody is, any other request asks to sign in again. */
export const meQuery = queryOptions({
  queryKey: ME_KEY,
  staleTime: 60_000,
  queryFn: async ({ client: queries }): Promise<Me | null> => {
    try {
      const { data } = await callOnce(() => client.GET('/me'));
      return data?.attributes ?? null;
    } catch (error) {
      if (isApiError(error) && error.status === 401) {
        return queries.getQueryData<Me | null>(ME_KEY) ?? null;
      }
      throw error;
    }
  },
});
