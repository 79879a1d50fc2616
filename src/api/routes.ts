import type { ResourceDefinition } from '../jsonapi/definition/definition.js';
import { commandTypesOfDevice } from '../resources/commands/command-types.js';
import { organization } from '../resources/server/organization.js';
import { returnToService } from '../resources/server/return-to-service.js';
import { scepConfiguration } from '../resources/server/scep-configuration.js';
import type { ApiRoute } from './api-route.js';
import {
  type AssignmentPreviewDeps,
  assignmentPreviewRoutes,
} from './assignments/assignment-preview.js';
import { type ItemRetryDeps, itemRetryRoutes } from './assignments/item-retries.js';
import { type PauseDeps, pauseRoutes } from './assignments/pauses.js';
import { type ProfileStatusDeps, profileStatusRoutes } from './assignments/profile-status.js';
import { type RolloutActionDeps, rolloutRoutes } from './assignments/rollout-actions.js';
import { type CommandBatchDeps, commandBatchRoutes } from './commands/command-batches.js';
import { type CommandTypeDeps, commandTypeRoutes } from './commands/command-types.js';
import { inventoryBatchRoute } from './commands/inventory-batches.js';
import { type TimelineRouteDeps, timelineRoute } from './commands/timeline.js';
import {
  type AuthorityRotationDeps,
  authorityRotationRoutes,
} from './credentials/authority-rotation.js';
import {
  type CertificateRevocationDeps,
  certificateRevocationRoutes,
} from './credentials/certificate-revocation.js';
import {
  type CredentialDownloadDeps,
  credentialDownloadRoutes,
} from './credentials/credential-downloads.js';
import { type CredentialRouteDeps, credentialRoutes } from './credentials/credentials.js';
import { type PushCertificateDeps, pushCertificateRoutes } from './credentials/push-certificate.js';
import { type DepDeviceRouteDeps, depDeviceRoutes } from './dep/dep-devices.js';
import { type DepFunnelRouteDeps, depFunnelRoutes } from './dep/dep-funnel.js';
import { type DepSyncDeps, depSyncRoutes } from './dep/dep-sync.js';
import { type DepTokenDeps, depTokenRoutes } from './dep/dep-token.js';
import { type DeviceActionDeps, deviceActionRoutes } from './devices/device-actions.js';
import { type DevicePushDeps, devicePushRoutes } from './devices/device-push.js';
import { type DeviceSecretDeps, deviceSecretRoutes } from './devices/device-secrets.js';
import { type DiagnosisRouteDeps, diagnosisRoutes } from './devices/diagnosis.js';
import {
  type EnrollmentApprovalDeps,
  enrollmentApprovalRoutes,
} from './devices/enrollment-approval.js';
import { type FacetRouteDeps, facetRoutes } from './devices/facets.js';
import { type GroupPreviewDeps, groupPreviewRoutes } from './devices/group-preview.js';
import { type ProfileActionDeps, profileActionRoutes } from './profiles/profile-actions.js';
import { type ProfileFileDeps, profileFileRoutes } from './profiles/profile-files.js';
import { type BackupRouteDeps, backupRoutes } from './server/backups.js';
import { type ConfigurationDeps, configurationRoutes } from './server/configuration.js';
import { type DocsDeps, docsRoutes } from './server/docs.js';
import { type DoctorRouteDeps, doctorRoutes } from './server/doctor.js';
import { type FileVaultProfileDeps, fileVaultProfileRoutes } from './server/filevault-profile.js';
import { type JobRouteDeps, jobRoutes } from './server/jobs.js';
import { meRoutes } from './server/me.js';
import { type SessionRouteDeps, sessionRoutes } from './server/sessions.js';
import { type TokenRouteDeps, tokenRoutes } from './server/tokens.js';

export type AdminRouteDeps = CommandTypeDeps &
  CommandBatchDeps &
  AssignmentPreviewDeps &
  ItemRetryDeps &
  PauseDeps &
  ProfileStatusDeps &
  DeviceActionDeps &
  DevicePushDeps &
  DeviceSecretDeps &
  DiagnosisRouteDeps &
  TimelineRouteDeps &
  ConfigurationDeps &
  DoctorRouteDeps &
  FileVaultProfileDeps &
  AuthorityRotationDeps &
  CertificateRevocationDeps &
  CredentialDownloadDeps &
  CredentialRouteDeps &
  EnrollmentApprovalDeps &
  FacetRouteDeps &
  GroupPreviewDeps &
  ProfileActionDeps &
  ProfileFileDeps &
  DepTokenDeps &
  DepDeviceRouteDeps &
  DepFunnelRouteDeps &
  DepSyncDeps &
  PushCertificateDeps &
  JobRouteDeps &
  BackupRouteDeps &
  RolloutActionDeps &
  SessionRouteDeps &
  TokenRouteDeps &
  Pick<DocsDeps, 'musterVersion' | 'requestTypes'>;

/** Types of which there is one resource each. */
export const SINGLETONS = [
  organization,
  scepConfiguration,
  returnToService,
] as ResourceDefinition[];

/** Types whose resources are in memory. */
export const CATALOGUES = [commandTypesOfDevice] as ResourceDefinition[];

/** Routes of /api/v1 that are not CRUD, mounted and described in the API document. */
export function adminRoutes(deps: AdminRouteDeps): ApiRoute[] {
  const { api, musterVersion, requestTypes } = deps;
  const { registry, basePath } = api;
  const routes = [
    ...deviceActionRoutes(deps),
    ...assignmentPreviewRoutes(deps),
    ...itemRetryRoutes(deps),
    ...pauseRoutes(deps),
    ...profileStatusRoutes(deps),
    ...commandTypeRoutes(deps),
    ...commandBatchRoutes(deps),
    inventoryBatchRoute(deps),
    ...devicePushRoutes(deps),
    ...deviceSecretRoutes(deps),
    ...diagnosisRoutes(deps),
    timelineRoute(deps),
    ...enrollmentApprovalRoutes(deps),
    ...facetRoutes(deps),
    ...groupPreviewRoutes(deps),
    ...configurationRoutes(deps),
    ...doctorRoutes(deps),
    ...fileVaultProfileRoutes(deps),
    ...authorityRotationRoutes(deps),
    ...certificateRevocationRoutes(deps),
    ...credentialDownloadRoutes(deps),
    ...credentialRoutes(deps, basePath),
    ...pushCertificateRoutes(deps),
    ...profileActionRoutes(deps),
    ...profileFileRoutes(deps),
    ...depDeviceRoutes(deps),
    ...depFunnelRoutes(deps),
    ...depSyncRoutes(deps),
    ...jobRoutes(deps),
    ...backupRoutes(deps),
    ...rolloutRoutes(deps),
    ...sessionRoutes(deps),
    ...tokenRoutes(deps),
  ];
  const others = [...routes, ...depTokenRoutes(deps)];
  const me = meRoutes(deps, others);
  const all = [...others, ...me];
  const described = { registry, singletons: SINGLETONS, catalogues: CATALOGUES, routes: all };
  const docs = { ...described, basePath, musterVersion, requestTypes };
  return [...routes, ...me, ...docsRoutes(docs)];
}
