import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { createRoot } from 'react-dom/client';
import * as z from 'zod/mini';
import { queryClient } from './api/query-client';
import { router } from './shell/router';
import './ui/tokens.css';
import './ui/base.css';
import './ui/print.css';
import { applyTheme } from './ui/theme';

// The content security policy allows no eval.
z.config({ jitless: true });
applyTheme();

const container = document.getElementById('root');
if (container !== null) {
  createRoot(container).render(
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
    </QueryClientProvider>,
  );
}
