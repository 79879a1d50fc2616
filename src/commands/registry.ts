import { availableOsUpdates } from './handlers/available-os-updates.js';
import { certificateList } from './handlers/certificate-list.js';
import { deviceConfigured } from './handlers/device-configured.js';
import { deviceInformation } from './handlers/device-information.js';
import { installedApplicationList } from './handlers/installed-application-list.js';
import { profileList } from './handlers/profile-list.js';
import { securityInfo } from './handlers/security-info.js';
import type { ReportHandler } from './report.js';

const HANDLERS: readonly ReportHandler[] = [
  deviceInformation,
  securityInfo,
  installedApplicationList,
  certificateList,
  profileList,
  availableOsUpdates,
  deviceConfigured,
];

const BY_TYPE = new Map(HANDLERS.map((handler) => [handler.requestType, handler]));

/** Request types whose acknowledged reports are taken apart; all others are stored and shown. */
export const HANDLED_TYPES: readonly string[] = [...BY_TYPE.keys()];

export function handlerFor(requestType: string): ReportHandler | undefined {
  return BY_TYPE.get(requestType);
}
