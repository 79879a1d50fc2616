import { QueryCache, QueryClient } from '@tanstack/react-query';
import { isApiError } from './errors';
import { ME_KEY } from './me';

const POLL = 5_000;

/** A 401 of any query means that the session has ended: the shell shows the sign-in. */
export const queryClient = new QueryClient({
  queryCache: new QueryCache({
    onError(error, query) {
      const ended = isApiError(error) && error.status === 401;
      if (ended && query.queryKey[0] !== ME_KEY[0]) queryClient.setQueryData(ME_KEY, null);
    },
  }),
  defaultOptions: {
    queries: {
      staleTime: 2_000,
      retry: (count, error) => count < 2 && !(isApiError(error) && error.status < 500),
    },
  },
});

/** For what changes by itself. Hidden tabs do not ask. */
export const LIVE = { refetchInterval: POLL, refetchIntervalInBackground: false } as const;
