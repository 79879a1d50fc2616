import { type Query, QueryCache, QueryClient } from '@tanstack/react-query';
import { ConnectionError, onConnection } from './connection';
import { isApiError } from './errors';
import { ME_KEY } from './me';

const POLL = 5_000;

/** A 401 of any query: the session has ended and nobody signed in again. The shell shows the sign-in. */
export const queryClient = new QueryClient({
  queryCache: new QueryCache({
    onError(error, query) {
      const ended = isApiError(error) && error.status === 401;
      if (ended && query.queryKey[0] !== ME_KEY[0]) queryClient.setQueryData(ME_KEY, null);
    },
  }),
  defaultOptions: {
    // A request that waited for the network would be sent when nobody expects it any more.
    mutations: { networkMode: 'always' },
    queries: {
      networkMode: 'always',
      staleTime: 2_000,
      retry: (count, error) => count < 2 && mayPass(error),
    },
  },
});

function mayPass(error: Error): boolean {
  if (error instanceof ConnectionError) return false;
  return !(isApiError(error) && error.status < 500);
}

/** What did not load without a connection is loaded with it. */
onConnection((isReached) => {
  if (!isReached) return;
  const predicate = ({ state }: Query) => state.error instanceof ConnectionError;
  void queryClient.refetchQueries({ type: 'active', predicate });
});

/** For what changes by itself. Hidden tabs do not ask. */
export const LIVE = { refetchInterval: POLL, refetchIntervalInBackground: false } as const;
