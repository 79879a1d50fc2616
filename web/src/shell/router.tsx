import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from '@tanstack/react-router';
import * as z from 'zod/mini';
import { ErrorPanel } from '../api/error-panel';
import { devicesSearch } from '../features/devices/search';
import { Frame } from './frame';
import { NotFound } from './not-found';

const root = createRootRoute({ component: Frame, notFoundComponent: NotFound });

const overview = createRoute({
  getParentRoute: () => root,
  path: '/',
  component: lazyRouteComponent(() => import('../features/overview/overview-page'), 'OverviewPage'),
});

const devices = createRoute({
  getParentRoute: () => root,
  path: '/devices',
  validateSearch: devicesSearch,
  component: lazyRouteComponent(() => import('../features/devices/devices-page'), 'DevicesPage'),
});

const device = createRoute({
  getParentRoute: () => root,
  path: '/devices/$id',
  component: lazyRouteComponent(() => import('../features/devices/device-page'), 'DevicePage'),
});

const commands = createRoute({
  getParentRoute: () => root,
  path: '/commands',
  component: lazyRouteComponent(() => import('../features/commands/batches-page'), 'BatchesPage'),
});

const commandSearch = z.object({
  devices: z.catch(z.optional(z.array(z.number())), undefined),
  rules: z.catch(z.optional(z.string()), undefined),
  type: z.catch(z.optional(z.string()), undefined),
});

const newCommand = createRoute({
  getParentRoute: () => root,
  path: '/commands/new',
  validateSearch: commandSearch,
  component: lazyRouteComponent(() => import('../features/commands/sender-page'), 'SenderPage'),
});

const batch = createRoute({
  getParentRoute: () => root,
  path: '/commands/batches/$id',
  component: lazyRouteComponent(() => import('../features/commands/batch-page'), 'BatchPage'),
});

const groups = createRoute({
  getParentRoute: () => root,
  path: '/groups',
  component: lazyRouteComponent(() => import('../features/groups/groups-page'), 'GroupsPage'),
});

const settings = createRoute({
  getParentRoute: () => root,
  path: '/settings',
  component: lazyRouteComponent(() => import('../features/settings/settings-page'), 'SettingsPage'),
});

/** The frame shows the form to whoever is not signed in; others have nothing to do here. */
const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  component: () => {
    throw redirect({ to: '/' });
  },
});

export const router = createRouter({
  routeTree: root.addChildren([
    ...[overview, devices, device, commands, newCommand, batch, groups, settings, signIn],
  ]),
  defaultPreload: 'intent',
  defaultErrorComponent: ({ error, reset }) => <ErrorPanel error={error} onRetry={reset} />,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
