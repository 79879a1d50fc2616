import { availableOsUpdates } from './handlers/available-os-updates.js';
import { certificateList } from './handlers/certificate-list.js';
import { deviceConfigured } from './handlers/device-configured.js';
import { deviceInformation } from './handlers/device-information.js';
import { deviceLocation } from './handlers/device-location.js';
import { STATE_HANDLERS } from './handlers/device-states.js';
import { installedApplicationList } from './handlers/installed-application-list.js';
import { installApplication, managedApplicationList } from './handlers/managed-application-list.js';
import { osUpdateStatus, scheduleOsUpdate } from './handlers/os-update-states.js';
import { profileList } from './handlers/profile-list.js';
import { provisioningProfileList } from './handlers/provisioning-profile-list.js';
import {
  activationLockBypassCode,
  rotateFileVaultKey,
  setFirmwarePassword,
  verifyFirmwarePassword,
  verifyRecoveryLock,
} from './handlers/reported-secrets.js';
import { restrictions } from './handlers/restrictions.js';
import { securityInfo } from './handlers/security-info.js';
import { settings } from './handlers/settings.js';
import { userList } from './handlers/user-list.js';
import type { ReportHandler } from './reports/report-handler.js';

/** Handlers of acknowledged reports; others are only stored. To add one, see CONTRIBUTING.md. */
const HANDLERS: readonly ReportHandler[] = [
  deviceInformation,
  securityInfo,
  installedApplicationList,
  certificateList,
  profileList,
  availableOsUpdates,
  osUpdateStatus,
  scheduleOsUpdate,
  deviceConfigured,
  rotateFileVaultKey,
  setFirmwarePassword,
  verifyFirmwarePassword,
  verifyRecoveryLock,
  managedApplicationList,
  installApplication,
  provisioningProfileList,
  userList,
  deviceLocation,
  restrictions,
  activationLockBypassCode,
  settings,
  ...STATE_HANDLERS,
];

const BY_TYPE = new Map(HANDLERS.map((handler) => [handler.requestType, handler]));

/** Request types whose acknowledged reports are handled. */
export const HANDLED_TYPES: readonly string[] = [...BY_TYPE.keys()];

/** Those whose handlers read the parameters of the command: of lists, and where they say so. */
export const PARAMETER_TYPES = HANDLERS.filter(
  ({ readRows, readsParameters }) => readRows !== undefined || readsParameters === true,
).map(({ requestType }) => requestType);

export function handlerFor(requestType: string): ReportHandler | undefined {
  return BY_TYPE.get(requestType);
}
