import { createRoute, redirect } from '@tanstack/react-router';
import * as z from 'zod/mini';
import { lazyPage } from './lazy-page';
import { root } from './root-route';

const settings = createRoute({
  getParentRoute: () => root,
  path: '/settings',
  beforeLoad: () => {
    throw redirect({ to: '/settings/certificates', replace: true });
  },
});

const certificates = createRoute({
  getParentRoute: () => root,
  path: '/settings/certificates',
  component: lazyPage(
    () => import('../features/settings/certificates/certificates-page'),
    'CertificatesPage',
  ),
});

const doctor = createRoute({
  getParentRoute: () => root,
  path: '/settings/doctor',
  component: lazyPage(() => import('../features/settings/doctor/doctor-page'), 'DoctorPage'),
});

const organization = createRoute({
  getParentRoute: () => root,
  path: '/settings/organization',
  component: lazyPage(
    () => import('../features/settings/organization/organization-page'),
    'OrganizationPage',
  ),
});

const tokens = createRoute({
  getParentRoute: () => root,
  path: '/settings/tokens',
  component: lazyPage(() => import('../features/settings/tokens/tokens-page'), 'TokensPage'),
});

const sessions = createRoute({
  getParentRoute: () => root,
  path: '/settings/sessions',
  component: lazyPage(() => import('../features/settings/sessions/sessions-page'), 'SessionsPage'),
});

const jobsSearch = z.object({ status: z.catch(z.optional(z.string()), undefined) });

const jobs = createRoute({
  getParentRoute: () => root,
  path: '/settings/jobs',
  validateSearch: jobsSearch,
  component: lazyPage(() => import('../features/settings/jobs/jobs-page'), 'JobsPage'),
});

const backups = createRoute({
  getParentRoute: () => root,
  path: '/settings/backups',
  component: lazyPage(() => import('../features/settings/backups/backups-page'), 'BackupsPage'),
});

const auditSearch = z.object({
  actor: z.catch(z.optional(z.coerce.string()), undefined),
  action: z.catch(z.optional(z.coerce.string()), undefined),
});

const audit = createRoute({
  getParentRoute: () => root,
  path: '/settings/audit',
  validateSearch: auditSearch,
  component: lazyPage(() => import('../features/settings/audit/audit-page'), 'AuditPage'),
});

export const SETTINGS_ROUTES = [
  settings,
  certificates,
  doctor,
  organization,
  tokens,
  sessions,
  jobs,
  backups,
  audit,
] as const;
