import { availableOsUpdates } from './handlers/available-os-updates.js';
import { certificateList } from './handlers/certificate-list.js';
import { deviceConfigured } from './handlers/device-configured.js';
import { deviceInformation } from './handlers/device-information.js';
import { installedApplicationList } from './handlers/installed-application-list.js';
import { profileList } from './handlers/profile-list.js';
import { rotateFileVaultKey } from './handlers/rotate-filevault-key.js';
import { securityInfo } from './handlers/security-info.js';
import type { ReportHandler } from './reports/report-handler.js';

/**
 * The handlers of reports. To add one: a file in `handlers/` and a line here. If it fills a table, add
 * the table to InventoryTable in `db/devices/inventory-repository.ts`; add the captured report to
 * `test/mdm/expected-reports.ts`. Commands without a handler are sent and their reports stored too.
 */
const HANDLERS: readonly ReportHandler[] = [
  deviceInformation,
  securityInfo,
  installedApplicationList,
  certificateList,
  profileList,
  availableOsUpdates,
  deviceConfigured,
  rotateFileVaultKey,
];

const BY_TYPE = new Map(HANDLERS.map((handler) => [handler.requestType, handler]));

/** Request types whose acknowledged reports are handled. */
export const HANDLED_TYPES: readonly string[] = [...BY_TYPE.keys()];

/** Those of lists: their handlers read rows, and the parameters of the command. */
export const LIST_TYPES = HANDLED_TYPES.filter((type) => handlerFor(type)?.readRows !== undefined);

export function handlerFor(requestType: string): ReportHandler | undefined {
  return BY_TYPE.get(requestType);
}
