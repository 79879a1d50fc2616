import type { PlistInput } from '../../protocol/plist/plist.js';

const EXTENSIONS = [
  {
    Identifier: 'com.example.notes.share',
    ExtensionPoint: 'com.apple.share-services',
    DisplayName: 'Example Notes',
  },
  {
    Identifier: 'com.example.files.finder-sync',
    ExtensionPoint: 'com.apple.FinderSync',
    DisplayName: 'Example Files',
  },
];

const ACTIVE_EXTENSIONS = EXTENSIONS.map((extension) => ({
  ...extension,
  Path: `/Applications/${extension.DisplayName}.app`,
  Version: '1.0',
  UserElection: 'Default',
}));

/** Commands that change nothing on a simulated device and get the same answer from each. */
export const FIXED_ANSWERS: Record<string, Record<string, PlistInput>> = {
  AccountConfiguration: {},
  CancelEnhancedLogCollection: {},
  ClearRestrictionsPassword: {},
  InstallEnterpriseApplication: {},
  PlayLostModeSound: {},
  RefreshCellularPlans: {},
  RestartDevice: {},
  SetAutoAdminPassword: {},
  ShutDownDevice: {},
  StopMirroring: {},
  TriggerEnhancedLogCollection: {},
  ValidateApplications: {},
  ActiveNSExtensions: { Extensions: ACTIVE_EXTENSIONS },
  ContentCachingInformation: {
    StatusResponse: { Activated: false, Active: false, CacheStatus: 'OK', CacheUsed: 0 },
  },
  InviteToProgram: { InvitationResult: 'Acknowledged' },
  ManagedApplicationFeedback: { ManagedApplicationFeedback: [] },
  NSExtensionMappings: { Extensions: EXTENSIONS },
  RequestMirroring: { MirroringResult: 'Prompting' },
  Restrictions: { GlobalRestrictions: { restrictedBool: {} }, ProfileRestrictions: {} },
  ScheduleOSUpdateScan: { ScanInitiated: true },
};
