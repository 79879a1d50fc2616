import type { ResourceDefinition } from '../jsonapi/definition.js';
import { auditEvents } from './audit-events.js';
import { availableOsUpdates } from './available-os-updates.js';
import { commands } from './commands.js';
import { devices } from './devices.js';
import { installedApplications } from './installed-applications.js';
import { installedCertificates } from './installed-certificates.js';
import { installedProfiles } from './installed-profiles.js';
import type { ResourceServices } from './services.js';
import { tags } from './tags.js';

/** Every JSON:API resource. A new one needs its file and its line here, nothing else. */
export const DEFINITIONS: ResourceDefinition<ResourceServices>[] = [
  auditEvents,
  availableOsUpdates,
  commands,
  devices,
  installedApplications,
  installedCertificates,
  installedProfiles,
  tags,
];
