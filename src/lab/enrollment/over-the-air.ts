import { encodePem } from '../../crypto/asn1/pem.js';
import { isPlistDict } from '../../protocol/plist/plist.js';
import { openProfile, parseProfile } from '../devices/profiles.js';
import { signData } from '../pki/cms-signed-data.js';
import { requestIdentity } from '../pki/scep-client.js';
import { refusedReply } from '../wire/http-reply.js';
import { LabError } from '../wire/lab-error.js';
import type { MdmIdentity } from '../wire/mdm-client.js';
import { deviceAttributes, type RequestedAttributes } from './device-info.js';
import { type EnrollmentProfile, readProfileFile, serverUrl } from './enrollment-profile.js';
import type { CertifiedWay, EnrollingDevice } from './enrollment-way.js';
import { readIdentityProfile } from './profile-reader.js';

const SIGNED_TYPE = 'application/pkcs7-signature';

interface ProfileService extends RequestedAttributes {
  url: string;
}

/**
 * Over-the-air enrollment: the device posts its attributes twice, signed first with the certificate
 * of its activation, then with the identity that the first answer made it request.
 */
export async function obtainOverTheAir(
  enrolling: EnrollingDevice,
  way: CertifiedWay,
): Promise<EnrollmentProfile> {
  const { device } = enrolling;
  const service = await fetchService(enrolling, way);
  const attributes = deviceAttributes(device, service);
  const first = await post(enrolling, service.url, await way.activation.sign(device, attributes));
  const identity = await fetchIdentity(enrolling, first);
  const second = signData({ content: attributes, signer: identity });
  return readProfileFile(await post(enrolling, service.url, second));
}

async function fetchService(
  { http }: EnrollingDevice,
  { url: base, token }: CertifiedWay,
): Promise<ProfileService> {
  const url = serverUrl(base, '/enroll/ota', { token });
  const reply = await http.send({ method: 'GET', url });
  if (reply.status !== 200) throw refusedReply(url, reply);
  return readProfileService(reply.body);
}

async function post({ http }: EnrollingDevice, url: string, body: Buffer): Promise<Buffer> {
  const headers = { 'Content-Type': SIGNED_TYPE };
  const reply = await http.send({ method: 'POST', url, headers, body });
  if (reply.status !== 200) throw refusedReply(url, reply);
  return reply.body;
}

/** Reads the interim profile of the second step, and gets the identity it describes. */
async function fetchIdentity(enrolling: EnrollingDevice, answer: Buffer): Promise<MdmIdentity> {
  const { http, device, keys } = enrolling;
  const { scep, caCertificates } = readIdentityProfile(openProfile(answer).plist);
  http.trust(caCertificates.map((der) => encodePem('CERTIFICATE', der)));
  return await requestIdentity({ http, scep, device, keys: await keys.get(scep.keySize) });
}

/** The payload of the first step: where to post which attributes. */
function readProfileService(bytes: Buffer): ProfileService {
  const { PayloadType, PayloadContent: content } = parseProfile(openProfile(bytes).plist);
  if (PayloadType !== 'Profile Service' || !isPlistDict(content)) {
    throw new LabError('the server sent no Profile Service payload');
  }
  const { URL: url, DeviceAttributes: attributes, Challenge: challenge } = content;
  if (typeof url !== 'string' || !Array.isArray(attributes)) {
    throw new LabError('the Profile Service payload lacks its URL or its attributes');
  }
  return {
    url,
    attributes: attributes.filter((name) => typeof name === 'string'),
    challenge: typeof challenge === 'string' ? challenge : undefined,
  };
}
