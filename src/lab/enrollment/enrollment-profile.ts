import { parsePlistDict } from '../../protocol/plist/plist.js';
import { readEnrollmentProfile } from '../../protocol/profiles/mobileconfig-reader.js';
import { type InstalledProfile, toInstalledProfile } from '../devices/profiles.js';
import type { HttpClient } from '../wire/http-client.js';
import { LabError } from '../wire/lab-error.js';
import type { MdmEndpoint } from '../wire/mdm-client.js';
import { refusal } from '../wire/refusal.js';
import { openProfile } from './profile-file.js';

type ProfileContent = ReturnType<typeof readEnrollmentProfile>;

export type ScepSettings = ProfileContent['scep'];

/** All that a device learns about its server. */
export interface EnrollmentProfile {
  scep: ScepSettings;
  mdm: MdmEndpoint & {
    topic: string;
    serverCapabilities: string[];
    /** Where it was given for an account. */
    enrollmentMode?: string;
  };
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
  const { signMessage: isSigned, enrollmentMode, ...endpoint } = mdm;
  const { serverUrl, checkInUrl, topic, serverCapabilities } = endpoint;
  return {
    scep,
    mdm: {
      ...{ serverUrl, checkInUrl, topic, serverCapabilities, isSigned },
      ...(enrollmentMode === undefined ? {} : { enrollmentMode }),
    },
    caCertificates,
    installed,
  };
}

/** Below the base URL of a server; parameters that are undefined are left out. */
export function serverUrl(
  baseUrl: string,
  path: string,
  parameters: Record<string, string | undefined> = {},
): string {
  const url = new URL(`${baseUrl.replace(/\/+$/, '')}${path}`);
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) url.searchParams.set(name, value);
  }
  return url.href;
}

/** As a person gets it who opens the server's page, or follows a link with this token. */
export async function fetchProfile(
  http: HttpClient,
  baseUrl: string,
  token?: string,
): Promise<EnrollmentProfile> {
  const url = serverUrl(baseUrl, '/enroll/profile', { token });
  const reply = await http.send({ method: 'GET', url });
  if (reply.status !== 200) throw refusal(url, reply);
  return readProfileFile(reply.body);
}
