import * as z from 'zod/mini';
import type { ListName } from './queries';

export const TABS = [
  'facts',
  'commands',
  'items',
  'applications',
  'profiles',
  'certificates',
  'users',
  'secrets',
  'changes',
  'former',
] as const;
export type Tab = (typeof TABS)[number];

/** The tab stands in the address; one that does not exist counts as none. */
export const deviceSearch = z.object({
  tab: z.catch(z.optional(z.enum(TABS)), undefined),
});

/** What each tab reads of the API. */
export const LIST_OF_TAB: Partial<Record<Tab, ListName>> = {
  commands: 'commands',
  items: 'items',
  applications: 'installed_applications',
  profiles: 'installed_profiles',
  certificates: 'installed_certificates',
  users: 'local_users',
  secrets: 'secrets',
  changes: 'changes',
  former: 'former_enrollments',
};
