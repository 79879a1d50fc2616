import { createRoute, createRouter, Navigate, redirect } from '@tanstack/react-router';
import * as z from 'zod/mini';
import { ErrorPanel } from '../api/error-panel';
import { deviceSearch } from '../features/device/tabs';
import { withKeptColumns } from '../features/devices/kept-columns';
import { devicesSearch } from '../features/devices/search';
import { lazyPage } from './lazy-page';
import { root } from './root-route';
import { SETTINGS_ROUTES } from './settings-routes';

const overview = createRoute({
  getParentRoute: () => root,
  path: '/',
  component: lazyPage(() => import('../features/overview/overview-page'), 'OverviewPage'),
});

const devices = createRoute({
  getParentRoute: () => root,
  path: '/devices',
  validateSearch: devicesSearch,
  beforeLoad: ({ search }) => {
    const kept = withKeptColumns(search);
    if (kept !== undefined) throw redirect({ to: '/devices', search: kept, replace: true });
  },
  component: lazyPage(() => import('../features/devices/devices-page'), 'DevicesPage'),
});

const device = createRoute({
  getParentRoute: () => root,
  path: '/devices/$id',
  validateSearch: deviceSearch,
  component: lazyPage(() => import('../features/device/device-page'), 'DevicePage'),
});

const commands = createRoute({
  getParentRoute: () => root,
  path: '/commands',
  component: lazyPage(() => import('../features/commands/batches/batches-page'), 'BatchesPage'),
});

/** An address that somebody wrote has the list itself. */
const ruleText = z.pipe(
  z.union([z.string(), z.array(z.unknown())]),
  z.transform((rules) => (typeof rules === 'string' ? rules : JSON.stringify(rules))),
);

const commandSearch = z.object({
  devices: z.catch(z.optional(z.array(z.number())), undefined),
  rules: z.catch(z.optional(ruleText), undefined),
  tags: z.catch(z.optional(z.array(z.number())), undefined),
  groups: z.catch(z.optional(z.array(z.number())), undefined),
  type: z.catch(z.optional(z.string()), undefined),
});

const newCommand = createRoute({
  getParentRoute: () => root,
  path: '/commands/new',
  validateSearch: commandSearch,
  component: lazyPage(() => import('../features/commands/sender/sender-page'), 'SenderPage'),
});

const batchSearch = z.object({ status: z.catch(z.optional(z.string()), undefined) });

const batch = createRoute({
  getParentRoute: () => root,
  path: '/commands/batches/$id',
  validateSearch: batchSearch,
  component: lazyPage(() => import('../features/commands/batches/batch-page'), 'BatchPage'),
});

const groups = createRoute({
  getParentRoute: () => root,
  path: '/groups',
  component: lazyPage(() => import('../features/groups/groups-page'), 'GroupsPage'),
});

const newGroup = createRoute({
  getParentRoute: () => root,
  path: '/groups/new',
  component: lazyPage(() => import('../features/groups/new-group-page'), 'NewGroupPage'),
});

const tags = createRoute({
  getParentRoute: () => root,
  path: '/groups/tags',
  component: lazyPage(() => import('../features/groups/tags/tags-page'), 'TagsPage'),
});

const group = createRoute({
  getParentRoute: () => root,
  path: '/groups/$id',
  component: lazyPage(() => import('../features/groups/group-page'), 'GroupPage'),
});

const setUp = createRoute({
  getParentRoute: () => root,
  path: '/set-up',
  component: lazyPage(() => import('../features/set-up/set-up-page'), 'SetUpPage'),
});

/** The frame shows the form to people who are not signed in; others have nothing to do here. */
const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  component: () => <Navigate to="/" replace />,
});

export const router = createRouter({
  routeTree: root.addChildren([
    ...[overview, devices, device, commands, newCommand, batch, signIn],
    ...[groups, newGroup, tags, group, setUp],
    ...SETTINGS_ROUTES,
  ]),
  defaultPreload: 'intent',
  defaultErrorComponent: ({ error, reset }) => <ErrorPanel error={error} onRetry={reset} />,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
