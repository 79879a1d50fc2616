import { QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { createRoot } from 'react-dom/client';
import { ApiError } from './api/client.js';
import { ErrorBoundary } from './shell/error-boundary.js';
import { me } from './shell/session.js';
import { Shell } from './shell/shell.js';
import './ui/tokens.css';

/** Once a session has ended, the shell finds out and shows the sign-in. */
const cache = new QueryCache({
  onError: (error, { queryKey }) => {
    const isOfSession = queryKey[0] === me.queryKey[0];
    if (error instanceof ApiError && error.status === 401 && !isOfSession) {
      void queries.resetQueries({ queryKey: me.queryKey });
    }
  },
});
const queries = new QueryClient({
  queryCache: cache,
  defaultOptions: {
    queries: { retry: (count, error) => !(error instanceof ApiError) && count < 2 },
  },
});
const root = document.getElementById('root');
if (root === null) throw new Error('index.html has no #root');
createRoot(root).render(
  <ErrorBoundary>
    <QueryClientProvider client={queries}>
      <Shell />
    </QueryClientProvider>
  </ErrorBoundary>,
);
