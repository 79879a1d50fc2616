import {
  type InstalledProfile,
  openProfile,
  parseProfile,
  toInstalledProfile,
} from '../devices/profiles.js';
import type { HttpClient } from '../wire/http-client.js';
import { refusedReply } from '../wire/http-reply.js';
import { LabError } from '../wire/lab-error.js';
import type { MdmEndpoint } from '../wire/mdm-client.js';
import { readEnrollmentProfile } from './profile-reader.js';

type ProfileContent = ReturnType<typeof readEnrollmentProfile>;

export type ScepSettings = ProfileContent['scep'];

/** What a device knows about its server. */
export interface EnrollmentProfile {
  scep: ScepSettings;
  mdm: MdmEndpoint & {
    topic: string;
    serverCapabilities: string[];
    /** Only in a profile for an account. */
    enrollmentMode?: string | undefined;
  };
  /** DER. */
  caCertificates: Buffer[];
  /** The profile itself, for ProfileList. */
  installed: InstalledProfile;
}

/** Reads an enrollment profile, signed or not. Throws AppError or LabError for any other file. */
export function readProfileFile(bytes: Buffer): EnrollmentProfile {
  const { plist, signerCertificates } = openProfile(bytes);
  const { scep, mdm, caCertificates } = readEnrollmentProfile(plist);
  const origin = { isManaged: false, signerCertificates };
  const installed = toInstalledProfile(parseProfile(plist), origin);
  if (installed === undefined) throw new LabError('the enrollment profile has no identifier');
  const { serverUrl, checkInUrl, topic, serverCapabilities, enrollmentMode } = mdm;
  const { signMessage: isSigned } = mdm;
  return {
    scep,
    mdm: { serverUrl, checkInUrl, topic, serverCapabilities, isSigned, enrollmentMode },
    caCertificates,
    installed,
  };
}

/** A URL below the server's base URL, without the parameters that are undefined. */
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

/** Downloads the profile from the server's page, or with the token of an enrollment link. */
export async function fetchProfile(
  http: HttpClient,
  baseUrl: string,
  token?: string,
): Promise<EnrollmentProfile> {
  const url = serverUrl(baseUrl, '/enroll/profile', { token });
  const reply = await http.send({ method: 'GET', url });
  if (reply.status !== 200) throw refusedReply(url, reply);
  return readProfileFile(reply.body);
}
