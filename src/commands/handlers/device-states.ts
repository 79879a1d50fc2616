import { type RemovableTable, removeFromInventory } from '../../db/devices/inventory-merge.js';
import { updateDeviceFacts } from '../../db/devices/inventory-repository.js';
import type { PlistDict } from '../../protocol/plist/plist.js';
import { oneByOne, type ReportHandler } from '../reports/report-handler.js';

/** Commands that say all there is to know when the device acknowledges them. */
export const STATE_HANDLERS: readonly ReportHandler[] = [
  sets('EnableLostMode', () => ({ is_mdm_lost_mode_enabled: true })),
  sets('DisableLostMode', () => ({ is_mdm_lost_mode_enabled: false })),
  sets('EnableRemoteDesktop', () => ({ remote_desktop_enabled: true })),
  sets('DisableRemoteDesktop', () => ({ remote_desktop_enabled: false })),
  sets('ClearPasscode', () => ({ passcode_present: false })),
  // An empty password clears the lock.
  sets('SetRecoveryLock', ({ NewPassword }) => ({ is_recovery_lock_enabled: NewPassword !== '' })),
  removes('RemoveProfile', 'Identifier', [['installed_profiles', 'payload_identifier']]),
  removes('RemoveProvisioningProfile', 'UUID', [
    ['installed_provisioning_profiles', 'profile_uuid'],
  ]),
  removes('RemoveApplication', 'Identifier', [
    ['managed_applications', 'identifier'],
    ['installed_applications', 'bundle_identifier'],
  ]),
  removes('DeleteUser', 'UserName', [['local_users', 'user_name']]),
];

function sets(
  requestType: string,
  factsOf: (parameters: PlistDict) => Record<string, unknown>,
): ReportHandler {
  return {
    requestType,
    readsParameters: true,
    async handle(reports, { trx }) {
      const facts = reports.map(({ deviceId, parameters }) => {
        return { deviceId, facts: factsOf(parameters()) };
      });
      await updateDeviceFacts(trx, facts);
    },
  };
}

/** The rows that have the named key are gone from the device. */
function removes(
  requestType: string,
  parameter: string,
  places: readonly [RemovableTable, string][],
): ReportHandler {
  return {
    requestType,
    readsParameters: true,
    handle: oneByOne(async ({ deviceId, parameters }, { trx }) => {
      const { [parameter]: value } = parameters();
      if (typeof value !== 'string') return;
      for (const [table, column] of places) {
        await removeFromInventory(trx, table, { deviceId, column, value });
      }
    }),
  };
}
