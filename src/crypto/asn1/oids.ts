import { AppError } from '../../errors.js';

/** Object identifiers in dotted form, by the names of their standards. */
export const Oid = {
  // PKCS #1, X9.62, SEC 2
  rsaEncryption: '1.2.840.113549.1.1.1',
  rsaesOaep: '1.2.840.113549.1.1.7',
  mgf1: '1.2.840.113549.1.1.8',
  pSpecified: '1.2.840.113549.1.1.9',
  rsassaPss: '1.2.840.113549.1.1.10',
  sha1WithRsa: '1.2.840.113549.1.1.5',
  sha256WithRsa: '1.2.840.113549.1.1.11',
  sha384WithRsa: '1.2.840.113549.1.1.12',
  sha512WithRsa: '1.2.840.113549.1.1.13',
  ecPublicKey: '1.2.840.10045.2.1',
  ecdsaWithSha1: '1.2.840.10045.4.1',
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  ecdsaWithSha384: '1.2.840.10045.4.3.3',
  ecdsaWithSha512: '1.2.840.10045.4.3.4',
  // PKCS #5 (RFC 8018) and PKCS #12 (RFC 7292)
  pbkdf2: '1.2.840.113549.1.5.12',
  pbes2: '1.2.840.113549.1.5.13',
  hmacWithSha1: '1.2.840.113549.2.7',
  hmacWithSha256: '1.2.840.113549.2.9',
  hmacWithSha384: '1.2.840.113549.2.10',
  hmacWithSha512: '1.2.840.113549.2.11',
  pbeWithSha1And3KeyTripleDes: '1.2.840.113549.1.12.1.3',
  pbeWithSha1And128BitRc2: '1.2.840.113549.1.12.1.5',
  pbeWithSha1And40BitRc2: '1.2.840.113549.1.12.1.6',
  keyBag: '1.2.840.113549.1.12.10.1.1',
  shroudedKeyBag: '1.2.840.113549.1.12.10.1.2',
  certificateBag: '1.2.840.113549.1.12.10.1.3',
  safeContentsBag: '1.2.840.113549.1.12.10.1.6',
  x509Certificate: '1.2.840.113549.1.9.22.1',
  // Digests and ciphers
  sha1: '1.3.14.3.2.26',
  sha256: '2.16.840.1.101.3.4.2.1',
  sha384: '2.16.840.1.101.3.4.2.2',
  sha512: '2.16.840.1.101.3.4.2.3',
  desCbc: '1.3.14.3.2.7',
  desEde3Cbc: '1.2.840.113549.3.7',
  aes128Cbc: '2.16.840.1.101.3.4.1.2',
  aes192Cbc: '2.16.840.1.101.3.4.1.22',
  aes256Cbc: '2.16.840.1.101.3.4.1.42',
  aes128Gcm: '2.16.840.1.101.3.4.1.6',
  aes192Gcm: '2.16.840.1.101.3.4.1.26',
  aes256Gcm: '2.16.840.1.101.3.4.1.46',
  // PKCS #7 / CMS
  data: '1.2.840.113549.1.7.1',
  signedData: '1.2.840.113549.1.7.2',
  envelopedData: '1.2.840.113549.1.7.3',
  encryptedData: '1.2.840.113549.1.7.6',
  authEnvelopedData: '1.2.840.113549.1.9.16.1.23',
  // PKCS #9 attributes
  emailAddress: '1.2.840.113549.1.9.1',
  contentType: '1.2.840.113549.1.9.3',
  messageDigest: '1.2.840.113549.1.9.4',
  signingTime: '1.2.840.113549.1.9.5',
  challengePassword: '1.2.840.113549.1.9.7',
  smimeCapabilities: '1.2.840.113549.1.9.15',
  extensionRequest: '1.2.840.113549.1.9.14',
  // SCEP attributes (RFC 8894 3.2.1)
  scepMessageType: '2.16.840.1.113733.1.9.2',
  scepPkiStatus: '2.16.840.1.113733.1.9.3',
  scepFailInfo: '2.16.840.1.113733.1.9.4',
  scepFailInfoText: '1.3.6.1.5.5.7.24.1',
  scepSenderNonce: '2.16.840.1.113733.1.9.5',
  scepRecipientNonce: '2.16.840.1.113733.1.9.6',
  scepTransactionId: '2.16.840.1.113733.1.9.7',
  // X.520 and RFC 4519 name attributes
  commonName: '2.5.4.3',
  surname: '2.5.4.4',
  serialNumber: '2.5.4.5',
  country: '2.5.4.6',
  locality: '2.5.4.7',
  stateOrProvince: '2.5.4.8',
  street: '2.5.4.9',
  organization: '2.5.4.10',
  organizationalUnit: '2.5.4.11',
  title: '2.5.4.12',
  givenName: '2.5.4.42',
  userId: '0.9.2342.19200300.100.1.1',
  domainComponent: '0.9.2342.19200300.100.1.25',
  // X.509 extensions
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  cRLNumber: '2.5.29.20',
  reasonCode: '2.5.29.21',
  nameConstraints: '2.5.29.30',
  cRLDistributionPoints: '2.5.29.31',
  certificatePolicies: '2.5.29.32',
  extendedKeyUsage: '2.5.29.37',
  authorityKeyIdentifier: '2.5.29.35',
  authorityInfoAccess: '1.3.6.1.5.5.7.1.1',
  // Ways of access in the one before (RFC 5280 4.2.2.1), and OCSP (RFC 6960)
  ocsp: '1.3.6.1.5.5.7.48.1',
  caIssuers: '1.3.6.1.5.5.7.48.2',
  ocspBasic: '1.3.6.1.5.5.7.48.1.1',
  ocspNonce: '1.3.6.1.5.5.7.48.1.2',
  // Apple's marks on certificates for its push service
  applePushDevelopment: '1.2.840.113635.100.6.3.1',
  applePushProduction: '1.2.840.113635.100.6.3.2',
  // Extended key usages
  serverAuth: '1.3.6.1.5.5.7.3.1',
  clientAuth: '1.3.6.1.5.5.7.3.2',
  emailProtection: '1.3.6.1.5.5.7.3.4',
  anyExtendedKeyUsage: '2.5.29.37.0',
} as const;

const MAX_OID_OCTETS = 64;

/** The content octets of an object identifier (X.690 8.19). Throws `invalid_asn1`. */
export function encodeOid(dotted: string): Buffer {
  const known = encodedByDotted.get(dotted);
  if (known !== undefined) return known;
  if (!/^[0-2](\.(0|[1-9][0-9]{0,39})){1,32}$/.test(dotted)) throw invalidOid('is not dotted');
  const [root = 0n, second = 0n, ...rest] = dotted.split('.').map(BigInt);
  if (root < 2n && second > 39n) throw invalidOid('is out of range');
  return Buffer.from([root * 40n + second, ...rest].flatMap(encodeArc));
}

/**
 * The dotted form of an object identifier's content octets, a range of the bytes given.
 * @throws AppError `invalid_asn1`
 */
export function decodeOid(bytes: Buffer, start = 0, end = bytes.length): string {
  const known = dottedByEncoded.get(bytes.toString('latin1', start, end));
  if (known !== undefined) return known;
  const content = bytes.subarray(start, end);
  if (content.length === 0 || content.length > MAX_OID_OCTETS) throw invalidOid('has a bad length');
  const [first = 0n, ...rest] = decodeArcs(content);
  const root = first < 80n ? first / 40n : 2n;
  return [root, first - root * 40n, ...rest].join('.');
}

const encodedByDotted = new Map<string, Buffer>();
const dottedByEncoded = new Map<string, string>();
for (const dotted of Object.values(Oid)) {
  const encoded = encodeOid(dotted);
  encodedByDotted.set(dotted, encoded);
  dottedByEncoded.set(encoded.toString('latin1'), dotted);
}

function invalidOid(why: string): AppError {
  return new AppError('invalid_asn1', 400, `malformed ASN.1: object identifier ${why}`);
}

function encodeArc(arc: bigint): number[] {
  const octets = [Number(arc & 0x7fn)];
  for (let rest = arc >> 7n; rest > 0n; rest >>= 7n) octets.unshift(Number(rest & 0x7fn) | 0x80);
  return octets;
}

function decodeArcs(content: Buffer): bigint[] {
  const arcs: bigint[] = [];
  let arc = 0n;
  let started = false;
  for (const octet of content) {
    if (!started && octet === 0x80) throw invalidOid('has a padded arc');
    arc = (arc << 7n) | BigInt(octet & 0x7f);
    started = (octet & 0x80) !== 0;
    if (started) continue;
    arcs.push(arc);
    arc = 0n;
  }
  if (started) throw invalidOid('is truncated');
  return arcs;
}
