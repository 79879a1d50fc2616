import type { ResourceDefinition } from '../jsonapi/definition/definition.js';
import { type AssignmentServices, assignments } from './assignments/assignments.js';
import { deviceItems } from './assignments/device-items.js';
import { type RolloutServices, rollouts } from './assignments/rollouts.js';
import type { CertificateServices } from './certificates/certificate-operations.js';
import {
  certificateSigningRequests,
  type SigningRequestServices,
} from './certificates/certificate-signing-requests.js';
import { certificates } from './certificates/certificates.js';
import { rsaPrivateKeys } from './certificates/rsa-private-keys.js';
import { type CommandBatchServices, commandBatches } from './commands/command-batches.js';
import type { CommandServices } from './commands/command-operations.js';
import { commands } from './commands/commands.js';
import type { DepAccountServices } from './dep/dep-account-operations.js';
import { depAccounts } from './dep/dep-accounts.js';
import { depDevices } from './dep/dep-devices.js';
import { depProfiles } from './dep/dep-profiles.js';
import { depTokens } from './dep/dep-token-history.js';
import { type CustomAttributeServices, customAttributes } from './devices/custom-attributes.js';
import { deviceChanges } from './devices/device-changes.js';
import { deviceGroups, type GroupServices } from './devices/device-groups.js';
import type { DeviceServices } from './devices/device-operations.js';
import { deviceSecrets } from './devices/device-secrets.js';
import { deviceSetups } from './devices/device-setups.js';
import { deviceUsers } from './devices/device-users.js';
import { devices } from './devices/devices.js';
import { formerEnrollments } from './devices/former-enrollments.js';
import { tags } from './devices/tags.js';
import { type EnrollmentLinkServices, enrollmentLinks } from './enrollment/enrollment-links.js';
import { enrollmentRequests } from './enrollment/enrollment-requests.js';
import { type EnrollmentUserServices, enrollmentUsers } from './enrollment/enrollment-users.js';
import { applications } from './inventory/applications.js';
import { availableOsUpdates } from './inventory/available-os-updates.js';
import {
  deviceLocations,
  deviceRestrictions,
  installedProvisioningProfiles,
  localUsers,
  managedApplications,
} from './inventory/further-inventory.js';
import { installedApplications } from './inventory/installed-applications.js';
import { installedCertificates } from './inventory/installed-certificates.js';
import { installedPayloads } from './inventory/installed-payloads.js';
import { installedProfiles } from './inventory/installed-profiles.js';
import { profilePayloads } from './profiles/profile-payloads.js';
import { type ProfileSecretServices, profileSecrets } from './profiles/profile-secrets.js';
import { profileVersions } from './profiles/profile-versions.js';
import { profiles } from './profiles/profiles.js';
import { auditEvents } from './server/audit-events.js';
import { backups } from './server/backups.js';
import { type JobServices, jobs } from './server/jobs.js';
import type { SealingServices } from './server/return-to-service.js';
import { savedViews } from './server/saved-views.js';
import type { ScepServices } from './server/scep-configuration.js';
import { sessions } from './server/sessions.js';
import { tokens } from './server/tokens.js';

/** What the operations of the resources call; each resource declares its part. */
export type ResourceServices = CertificateServices &
  SigningRequestServices &
  CommandServices &
  CommandBatchServices &
  CustomAttributeServices &
  DepAccountServices &
  DeviceServices &
  EnrollmentLinkServices &
  EnrollmentUserServices &
  GroupServices &
  JobServices &
  ProfileSecretServices &
  AssignmentServices &
  RolloutServices &
  SealingServices &
  ScepServices;

/** Every JSON:API resource. CONTRIBUTING.md, Add a resource, says what a new one needs besides its line here. */
export const DEFINITIONS: ResourceDefinition<ResourceServices>[] = [
  applications,
  assignments,
  auditEvents,
  availableOsUpdates,
  backups,
  managedApplications,
  installedProvisioningProfiles,
  localUsers,
  deviceLocations,
  deviceRestrictions,
  certificateSigningRequests,
  certificates,
  commandBatches,
  commands,
  customAttributes,
  depAccounts,
  depDevices,
  depProfiles,
  depTokens,
  deviceGroups,
  deviceItems,
  deviceSecrets,
  deviceUsers,
  deviceSetups,
  devices,
  enrollmentLinks,
  enrollmentRequests,
  enrollmentUsers,
  formerEnrollments,
  deviceChanges,
  installedApplications,
  installedCertificates,
  installedPayloads,
  installedProfiles,
  jobs,
  profilePayloads,
  profileSecrets,
  profileVersions,
  profiles,
  rollouts,
  rsaPrivateKeys,
  savedViews,
  sessions,
  tokens,
  tags,
];
