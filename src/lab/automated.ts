import { machineInfo } from './device-info.js';
import { type EnrollmentProfile, readProfileFile, serverUrl } from './enrollment-profile.js';
import type { CertifiedWay, Journey } from './enrollment-way.js';
import { refusal } from './refusal.js';

/** As Setup Assistant does it where Apple's enrollment program named the server. */
export async function obtainAutomated(
  { http, device }: Journey,
  { url: base, activation }: CertifiedWay,
): Promise<EnrollmentProfile> {
  const url = serverUrl(base, '/dep/enroll');
  const body = await activation.sign(device, machineInfo(device));
  const headers = { 'Content-Type': 'application/pkcs7-signature' };
  const reply = await http.send({ method: 'POST', url, headers, body });
  if (reply.status !== 200) throw refusal(url, reply);
  return readProfileFile(reply.body);
}
