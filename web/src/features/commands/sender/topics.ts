/** What commands are for. The API has no such groups; a command without a topic is under `other`. */
export const TOPICS = [
  'ask',
  'protect',
  'power',
  'applications',
  'profiles',
  'users',
  'secrets',
  'other',
] as const;
export type Topic = (typeof TOPICS)[number];

const TOPIC_OF: Record<Exclude<Topic, 'other'>, readonly string[]> = {
  ask: [
    ...['DeviceInformation', 'SecurityInfo', 'InstalledApplicationList', 'ProfileList'],
    ...['CertificateList', 'ProvisioningProfileList', 'ManagedApplicationList', 'Restrictions'],
    ...['UserList', 'AvailableOSUpdates', 'OSUpdateStatus', 'ContentCachingInformation'],
    ...['ActiveNSExtensions', 'NSExtensionMappings', 'ManagedMediaList', 'LOMSetupRequest'],
    ...['ManagedApplicationAttributes', 'ManagedApplicationConfiguration'],
    'ManagedApplicationFeedback',
  ],
  protect: [
    ...['DeviceLock', 'EraseDevice', 'ClearPasscode', 'EnableLostMode', 'DisableLostMode'],
    ...['PlayLostModeSound', 'DeviceLocation', 'ClearRestrictionsPassword'],
    ...['ActivationLockBypassCode', 'ClearActivationLockBypassCode', 'RequestUnlockToken'],
  ],
  power: [
    ...['RestartDevice', 'ShutDownDevice', 'LOMDeviceRequest', 'ScheduleOSUpdate'],
    'ScheduleOSUpdateScan',
  ],
  applications: [
    ...['InstallApplication', 'InstallEnterpriseApplication', 'RemoveApplication'],
    ...['ValidateApplications', 'ApplyRedemptionCode', 'InviteToProgram', 'InstallMedia'],
    'RemoveMedia',
  ],
  profiles: [
    ...['Settings', 'InstallProfile', 'RemoveProfile', 'InstallProvisioningProfile'],
    ...['RemoveProvisioningProfile', 'DeclarativeManagement', 'RefreshCellularPlans'],
    ...['EnableRemoteDesktop', 'DisableRemoteDesktop', 'RequestMirroring', 'StopMirroring'],
    ...['DeviceConfigured', 'TriggerEnhancedLogCollection', 'CancelEnhancedLogCollection'],
  ],
  users: [
    ...['AccountConfiguration', 'DeleteUser', 'LogOutUser', 'UnlockUserAccount'],
    'UserConfigured',
  ],
  secrets: [
    ...['SetRecoveryLock', 'VerifyRecoveryLock', 'SetFirmwarePassword', 'VerifyFirmwarePassword'],
    ...['SetAutoAdminPassword', 'RotateFileVaultKey'],
  ],
};

const BY_TYPE = new Map(
  Object.entries(TOPIC_OF).flatMap(([topic, types]) =>
    types.map((type) => [type, topic as Topic] as const),
  ),
);

export function topicOf(requestType: string): Topic {
  return BY_TYPE.get(requestType) ?? 'other';
}
