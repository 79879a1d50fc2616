import type { ResourceDefinition } from '../jsonapi/definition.js';
import { applications } from './applications.js';
import { auditEvents } from './audit-events.js';
import { availableOsUpdates } from './available-os-updates.js';
import { certificateSigningRequests } from './certificate-signing-requests.js';
import { certificates } from './certificates.js';
import { commands } from './commands.js';
import { depAccounts } from './dep-accounts.js';
import { depDevices } from './dep-devices.js';
import { depProfiles } from './dep-profiles.js';
import { depTokens } from './dep-tokens.js';
import { deviceGroups } from './device-groups.js';
import { deviceSecrets } from './device-secrets.js';
import { deviceSetups } from './device-setups.js';
import { deviceUsers } from './device-users.js';
import { devices } from './devices.js';
import { enrollmentLinks } from './enrollment-links.js';
import { enrollmentRequests } from './enrollment-requests.js';
import { enrollmentUsers } from './enrollment-users.js';
import { formerEnrollments } from './former-enrollments.js';
import { installedApplications } from './installed-applications.js';
import { installedCertificates } from './installed-certificates.js';
import { installedProfiles } from './installed-profiles.js';
import { jobs } from './jobs.js';
import { profilePayloads } from './profile-payloads.js';
import { profileVersions } from './profile-versions.js';
import { profiles } from './profiles.js';
import { rsaPrivateKeys } from './rsa-private-keys.js';
import type { ResourceServices } from './services.js';
import { tags } from './tags.js';

/** Every JSON:API resource. A new one needs its file and its line here, nothing else. */
export const DEFINITIONS: ResourceDefinition<ResourceServices>[] = [
  applications,
  auditEvents,
  availableOsUpdates,
  certificateSigningRequests,
  certificates,
  commands,
  depAccounts,
  depDevices,
  depProfiles,
  depTokens,
  deviceGroups,
  deviceSecrets,
  deviceUsers,
  deviceSetups,
  devices,
  enrollmentLinks,
  enrollmentRequests,
  enrollmentUsers,
  formerEnrollments,
  installedApplications,
  installedCertificates,
  installedProfiles,
  jobs,
  profilePayloads,
  profileVersions,
  profiles,
  rsaPrivateKeys,
  tags,
];
