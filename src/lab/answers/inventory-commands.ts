import type { PlistDict } from '../../protocol/plist/plist.js';
import { describeApplication } from '../devices/applications.js';
import { describeProfile } from '../devices/profiles.js';
import { acknowledged, type CommandHandler } from './answer.js';
import { deviceInformation } from './device-information.js';
import { securityInfo } from './security-info.js';

function stringsIn(command: PlistDict, key: string): string[] | undefined {
  const value = command[key];
  if (!Array.isArray(value)) return undefined;
  return value.filter((entry) => typeof entry === 'string');
}

const answerDeviceInformation: CommandHandler = (device, command) => {
  const queries = stringsIn(command, 'Queries');
  if (queries === undefined) return { status: 'CommandFormatError' };
  return acknowledged({ QueryResponses: deviceInformation(device, queries) });
};

const answerApplications: CommandHandler = (device, command) => {
  const wanted = stringsIn(command, 'Identifiers');
  const listed = device.applications.filter(
    ({ identifier, isManaged }) =>
      (wanted === undefined || (identifier !== undefined && wanted.includes(identifier))) &&
      (command.ManagedAppsOnly !== true || isManaged),
  );
  const { platform } = device.identity;
  return acknowledged({
    InstalledApplicationList: listed.map((app) => describeApplication(app, platform)),
  });
};

const answerCertificates: CommandHandler = (device) =>
  acknowledged({
    CertificateList: device.certificates.map(({ commonName, der, isIdentity }) => ({
      CommonName: commonName,
      Data: der,
      IsIdentity: isIdentity,
    })),
  });

const answerProfiles: CommandHandler = (device, command) => {
  const listed = device.profiles.filter(
    ({ isManaged }) => command.ManagedOnly !== true || isManaged,
  );
  const answer = acknowledged({ ProfileList: listed.map(describeProfile) });
  device.profiles = device.profiles.filter(({ identifier }) => {
    return !device.profilesToLose.delete(identifier);
  });
  return answer;
};

const answerManagedApplications: CommandHandler = (device) => {
  const managed = device.applications.filter(({ isManaged }) => isManaged);
  const entries = managed.map(({ identifier, externalVersionIdentifier }) => [
    identifier,
    {
      Status: 'Managed',
      ManagementFlags: 1,
      HasConfiguration: false,
      HasFeedback: false,
      IsValidated: true,
      ExternalVersionIdentifier: externalVersionIdentifier,
    },
  ]);
  return acknowledged({ ManagedApplicationList: Object.fromEntries(entries) });
};

/** Commands that only read. */
export const INVENTORY_COMMANDS: Record<string, CommandHandler> = {
  DeviceInformation: answerDeviceInformation,
  SecurityInfo: (device) => acknowledged({ SecurityInfo: securityInfo(device) }),
  InstalledApplicationList: answerApplications,
  CertificateList: answerCertificates,
  ProfileList: answerProfiles,
  ManagedApplicationList: answerManagedApplications,
};
