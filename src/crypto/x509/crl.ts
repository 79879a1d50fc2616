import { type KeyObject, sign } from 'node:crypto';
import { promisify } from 'node:util';
import {
  derBitString,
  derContext,
  derElement,
  derInteger,
  derSequence,
  derTime,
  derUnsigned,
  Tag,
} from '../asn1/der.js';
import { Oid } from '../asn1/oids.js';
import { signatureAlgorithm } from '../keys/algorithms.js';
import { keyIdentifier } from '../keys/keys.js';
import type { ParsedCertificate } from './certificate.js';
import { encodeAuthorityKeyId, encodeExtension } from './certificate-extensions.js';

/** Signs in the thread pool: the list may have megabytes. */
const signInPool = promisify(sign);

export interface RevokedCertificate {
  /** Big-endian magnitude of the serial number. */
  serial: Buffer;
  revokedAt: Date;
  /** Absent or `unspecified`: the entry has no reason code (RFC 5280 5.3.1). */
  reason?: RevocationReason | undefined;
}

/** ENUMERATED of a CRLReason. */
export function encodeReason(reason: RevocationReason): Buffer {
  return derElement(Tag.enumerated, Buffer.from([reasonCode(reason)]));
}

const reasonExtensions = new Map<RevocationReason, Buffer>();

/** DER of one entry of a CRL's revokedCertificates (RFC 5280 5.1.2.6). */
export function encodeCrlEntry({ serial, revokedAt, reason }: RevokedCertificate): Buffer {
  return derSequence(derUnsigned(serial), derTime(revokedAt), ...entryExtensions(reason));
}

export interface BuildCrlOptions {
  issuer: ParsedCertificate;
  issuerKey: KeyObject;
  /** Greater with each list of the issuer: below 2^53. */
  number: number;
  thisUpdate: Date;
  nextUpdate: Date;
  /** Entries made by `encodeCrlEntry`, any number joined in one buffer. */
  entries: readonly Buffer[];
}

/**
 * A complete version 2 CRL (RFC 5280 5.1), signed with SHA-256 off the event loop by the issuer's
 * RSA or EC key. Times are cut to whole seconds. Returns DER.
 */
export async function buildCrl(options: BuildCrlOptions): Promise<Buffer> {
  const { issuer, issuerKey, thisUpdate, nextUpdate, entries } = options;
  const algorithm = signatureAlgorithm(issuerKey, 'sha256');
  const tbs = derSequence(
    derInteger(1),
    algorithm,
    issuer.subjectRaw,
    derTime(thisUpdate),
    derTime(nextUpdate),
    // RFC 5280 5.1.2.6: absent, not empty, when nothing is revoked.
    ...(entries.length > 0 ? [derSequence(...entries)] : []),
    crlExtensions(options),
  );
  const signature = await signInPool('sha256', tbs, issuerKey);
  return derSequence(tbs, algorithm, derBitString(signature));
}

/** CRLReason (RFC 5280 5.3.1) by name. */
const codes = {
  unspecified: 0,
  keyCompromise: 1,
  cACompromise: 2,
  affiliationChanged: 3,
  superseded: 4,
  cessationOfOperation: 5,
  certificateHold: 6,
  removeFromCRL: 8,
  privilegeWithdrawn: 9,
  aACompromise: 10,
} as const;

export type RevocationReason = keyof typeof codes;

const names = new Map(Object.entries(codes).map(([name, code]) => [code as number, name]));

/** The reason of a number; undefined for one that the standard does not name. */
export function reasonOf(code: number): RevocationReason | undefined {
  return names.get(code) as RevocationReason | undefined;
}

/** The number of a reason on the wire. */
function reasonCode(reason: RevocationReason): number {
  return codes[reason];
}

function entryExtensions(reason: RevocationReason | undefined): Buffer[] {
  if (reason === undefined || reason === 'unspecified') return [];
  const encoded = reasonExtensions.get(reason) ?? encodeReasonExtensions(reason);
  reasonExtensions.set(reason, encoded);
  return [encoded];
}

function encodeReasonExtensions(reason: RevocationReason): Buffer {
  const value = encodeReason(reason);
  return derSequence(encodeExtension({ oid: Oid.reasonCode, critical: false, value }));
}

function crlExtensions({ issuer, issuerKey, number }: BuildCrlOptions): Buffer {
  const magnitude = Buffer.alloc(8);
  magnitude.writeBigUInt64BE(BigInt(number));
  const authorityKeyId = issuer.subjectKeyId ?? keyIdentifier(issuerKey);
  const extensions = [
    { oid: Oid.authorityKeyIdentifier, value: encodeAuthorityKeyId(authorityKeyId) },
    { oid: Oid.cRLNumber, value: derUnsigned(magnitude) },
  ];
  return derContext(
    0,
    derSequence(
      ...extensions.map((extension) => encodeExtension({ ...extension, critical: false })),
    ),
  );
}
