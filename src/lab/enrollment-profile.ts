import { readEnrollmentProfile } from '../protocol/mobileconfig-reader.js';
import { parsePlistDict } from '../protocol/plist.js';
import type { HttpClient } from './http-client.js';
import { LabError } from './lab-error.js';
import type { MdmEndpoint } from './mdm-client.js';
import { openProfile } from './profile-file.js';
import { type InstalledProfile, toInstalledProfile } from './profiles.js';

type ProfileContent = ReturnType<typeof readEnrollmentProfile>;

export type ScepSettings = ProfileContent['scep'];

/** All that a device learns about its server. */
export interface EnrollmentProfile {
  scep: ScepSettings;
  mdm: MdmEndpoint & { topic: string; serverCapabilities: string[] };
  /** DER. */
  caCertificates: Buffer[];
  /** The profile itself, as ProfileList shows it afterwards. */
  installed: InstalledProfile;
}

/** Reads an enrollment profile, signed or not. Throws AppError or LabError when it is none. */
export function readProfileFile(bytes: Buffer): EnrollmentProfile {
  const { plist, signerCertificates } = openProfile(bytes);
  const { scep, mdm, caCertificates } = readEnrollmentProfile(plist);
  const origin = { isManaged: false, signerCertificates };
  const installed = toInstalledProfile(parsePlistDict(plist), origin);
  if (installed === undefined) throw new LabError('the enrollment profile has no identifier');
  const { serverUrl, checkInUrl, topic, serverCapabilities, signMessage: isSigned } = mdm;
  return {
    scep,
    mdm: { serverUrl, checkInUrl, topic, serverCapabilities, isSigned },
    caCertificates,
    installed,
  };
}

export async function fetchProfile(http: HttpClient, baseUrl: string): Promise<EnrollmentProfile> {
  const url = `${baseUrl.replace(/\/+$/, '')}/enroll/profile`;
  const { status, body } = await http.send({ method: 'GET', url });
  if (status !== 200) throw new LabError(`${url} answered ${status}: enrollment is not open`);
  return readProfileFile(body);
}
