/** Every right there is. */
export const ALL_ACCESS_RIGHTS = 8191;

/** The bits of `AccessRights` in the MDM payload, by the names in Apple's schema, which has two of some. */
const BITS = new Map([
  ['AllowInspection', 1],
  ['AllowInstallationRemoval', 2],
  ['AllowPasscodeRemovalAndLock', 4],
  ['DeviceLockAndRemovePasscode', 4],
  ['AllowDeviceErase', 8],
  ['AllowQueryDeviceInformation', 16],
  ['AllowQueryNetworkInformation', 32],
  ['AllowProvisioningInspection', 64],
  ['AllowProvisioningInstallationRemoval', 128],
  ['AllowQueryApplications', 256],
  ['QueryInstalledApps', 256],
  ['AllowQueryRestrictions', 512],
  ['AllowQuerySecurity', 1024],
  ['AllowSettings', 2048],
  ['AllowAppInstallation', 4096],
]);

/** The bit of a right; undefined where the schema names none that a profile grants (`None`, `Special Case`). */
export function bitOfRight(name: string | undefined): number | undefined {
  return name === undefined ? undefined : BITS.get(name);
}
