import { encodePem } from '../../crypto/asn1/pem.js';
import { buildSignedData } from '../../crypto/cms/cms-signed-data.js';
import { parseCertificate } from '../../crypto/x509/certificate.js';
import { isPlistDict, parsePlistDict } from '../../protocol/plist/plist.js';
import { readIdentityProfile } from '../../protocol/profiles/mobileconfig-reader.js';
import { LabError } from '../wire/lab-error.js';
import type { MdmIdentity } from '../wire/mdm-client.js';
import { refusal } from '../wire/refusal.js';
import { requestIdentity } from '../wire/scep-client.js';
import { type AskedAttributes, deviceAttributes } from './device-info.js';
import { type EnrollmentProfile, readProfileFile, serverUrl } from './enrollment-profile.js';
import type { CertifiedWay, Journey } from './enrollment-way.js';
import { openProfile } from './profile-file.js';

const SIGNED_TYPE = 'application/pkcs7-signature';

interface ProfileService extends AskedAttributes {
  url: string;
}

/** The payload that begins it: where to post which attributes. */
function readProfileService(bytes: Buffer): ProfileService {
  const { PayloadType, PayloadContent: content } = parsePlistDict(openProfile(bytes).plist);
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

async function fetchService(
  { http }: Journey,
  { url: base, token }: CertifiedWay,
): Promise<ProfileService> {
  const url = serverUrl(base, '/enroll/ota', { token });
  const reply = await http.send({ method: 'GET', url });
  if (reply.status !== 200) throw refusal(url, reply);
  return readProfileService(reply.body);
}

async function post({ http }: Journey, url: string, body: Buffer): Promise<Buffer> {
  const headers = { 'Content-Type': SIGNED_TYPE };
  const reply = await http.send({ method: 'POST', url, headers, body });
  if (reply.status !== 200) throw refusal(url, reply);
  return reply.body;
}

/** The profile that is meant to last only until the identity has signed once. */
async function fetchIdentity(journey: Journey, answer: Buffer): Promise<MdmIdentity> {
  const { http, device, keys } = journey;
  const { scep, caCertificates } = readIdentityProfile(openProfile(answer).plist);
  http.trust(caCertificates.map((der) => encodePem('CERTIFICATE', der)));
  return await requestIdentity({ http, scep, device, keys: await keys.take(scep.keySize) });
}

function signedBy({ certificate, privateKey }: MdmIdentity, content: Buffer): Buffer {
  const signer = { certificate: parseCertificate(certificate), privateKey };
  return buildSignedData({ content, signer });
}

/**
 * Enrollment over the air: the device posts its attributes twice, signed first by the certificate of
 * its maker, then by the one that the first answer made it fetch.
 */
export async function obtainOverTheAir(
  journey: Journey,
  way: CertifiedWay,
): Promise<EnrollmentProfile> {
  const { device } = journey;
  const service = await fetchService(journey, way);
  const attributes = deviceAttributes(device, service);
  const first = await post(journey, service.url, await way.activation.sign(device, attributes));
  const identity = await fetchIdentity(journey, first);
  return readProfileFile(await post(journey, service.url, signedBy(identity, attributes)));
}
