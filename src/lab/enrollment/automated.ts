import { z } from 'zod';
import { encodePem } from '../../crypto/asn1/pem.js';
import type { HttpClient } from '../wire/http-client.js';
import { parseJson, refusedReply } from '../wire/http-reply.js';
import { LabError } from '../wire/lab-error.js';
import { machineInfo } from './device-info.js';
import { type EnrollmentProfile, readProfileFile, serverUrl } from './enrollment-profile.js';
import type { AutomatedWay, EnrollingDevice } from './enrollment-way.js';

const profile = z.object({
  url: z.string(),
  configuration_web_url: z.string().optional(),
  anchor_certs: z.array(z.string()).default([]),
  await_device_configured: z.boolean().default(false),
});
const activation = z.object({ profile });
const unknownDevice = z.object({ known: z.boolean(), error: z.string() });

/** The part of a DEP profile that a device acts on in Setup Assistant. */
interface DepActivation {
  /** Where it asks for its enrollment profile. */
  url: string;
  /** PEM of CAs to trust besides the well-known ones. */
  anchors: string[];
  isAwaitingConfiguration: boolean;
}

/** What Setup Assistant does on a device that DEP assigned to a server. */
export async function obtainAutomated(
  enrolling: EnrollingDevice,
  way: AutomatedWay,
): Promise<EnrollmentProfile> {
  const { http, device } = enrolling;
  const { url: base, activation } = way;
  const url = (await findEnrollmentUrl(enrolling, way)) ?? serverUrl(base, '/dep/enroll');
  const body = await activation.sign(device, machineInfo(device));
  const headers = { 'Content-Type': 'application/pkcs7-signature' };
  const reply = await http.send({ method: 'POST', url, headers, body });
  if (reply.status !== 200) throw refusedReply(url, reply);
  return readProfileFile(reply.body);
}

/** The URL that Apple's stand-in returns; undefined if it does not know the device. */
async function findEnrollmentUrl(
  { http, device, onUnknownToApple }: EnrollingDevice,
  { portal }: AutomatedWay,
): Promise<string | undefined> {
  if (portal === undefined) return undefined;
  const found = await fetchDepActivation(http, portal, device.identity.serialNumber);
  if (found === undefined) {
    onUnknownToApple?.();
    return undefined;
  }
  http.trust(found.anchors);
  device.isAwaitingConfiguration ||= found.isAwaitingConfiguration;
  return found.url;
}

/**
 * Asks Apple's stand-in for the device's DEP profile; undefined if it does not know the device.
 * LabError if it knows the device but has no profile for it.
 */
export async function fetchDepActivation(
  http: HttpClient,
  portal: string,
  serialNumber: string,
): Promise<DepActivation | undefined> {
  const url = `${portal}/activation?serial=${encodeURIComponent(serialNumber)}`;
  const reply = await http.send({ method: 'GET', url });
  const body = parseJson(reply.body);
  if (reply.status === 404) {
    const { data } = unknownDevice.safeParse(body);
    if (data?.known === false) return undefined;
    if (data !== undefined) throw new LabError(data.error);
  }
  const { data } = activation.safeParse(body);
  if (reply.status !== 200 || data === undefined) throw refusedReply(url, reply);
  return toActivation(data);
}

function toActivation({ profile: read }: z.infer<typeof activation>): DepActivation {
  const { url, configuration_web_url: page, anchor_certs: anchors } = read;
  if (page !== undefined && page !== '') {
    throw new LabError('the profile needs a person to sign in at its configuration_web_url');
  }
  return {
    url,
    anchors: anchors.map((text) => encodePem('CERTIFICATE', Buffer.from(text, 'base64'))),
    isAwaitingConfiguration: read.await_device_configured,
  };
}
