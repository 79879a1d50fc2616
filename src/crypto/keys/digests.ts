import {
  type Asn1Cursor,
  type Asn1Element,
  derNull,
  derOid,
  derSequence,
  Tag,
} from '../asn1/der.js';
import { Oid } from '../asn1/oids.js';

export type DigestName = 'sha1' | 'sha256' | 'sha384' | 'sha512';

const digestByOid = new Map<string, DigestName>([
  [Oid.sha1, 'sha1'],
  [Oid.sha256, 'sha256'],
  [Oid.sha384, 'sha384'],
  [Oid.sha512, 'sha512'],
]);

export const digestOids: Record<DigestName, string> = {
  sha1: Oid.sha1,
  sha256: Oid.sha256,
  sha384: Oid.sha384,
  sha512: Oid.sha512,
};

/** The length of the digest in octets. */
export const digestBytes: Record<DigestName, number> = {
  sha1: 20,
  sha256: 32,
  sha384: 48,
  sha512: 64,
};

/** The digest for a dotted name; undefined for one that is not accepted (MD5 among them). */
export function digestName(oid: string): DigestName | undefined {
  return digestByOid.get(oid);
}

/** DER AlgorithmIdentifier of a digest, without parameters (RFC 5754 2). */
export function digestAlgorithm(digest: DigestName): Buffer {
  return derSequence(derOid(digestOids[digest]));
}

/** Reads an AlgorithmIdentifier whose parameters are absent or NULL. Returns its dotted name. */
export function readAlgorithm(cursor: Asn1Cursor): string {
  const members = cursor.sequence();
  const oid = members.oid();
  members.optional(Tag.null);
  members.finish();
  return oid;
}

export interface AlgorithmIdentifier {
  /** Dotted name. */
  oid: string;
  /** As encoded; undefined when absent. */
  parameters: Buffer | undefined;
}

/** Reads an AlgorithmIdentifier; its parameters stay encoded. */
export function algorithmIdentifier(element: Asn1Element): AlgorithmIdentifier {
  const members = element.sequence();
  const oid = members.oid();
  const parameters = members.done ? undefined : members.next().raw;
  members.finish();
  return { oid, parameters };
}

/** As `algorithmIdentifier`, of the next member. */
export function readAlgorithmIdentifier(cursor: Asn1Cursor): AlgorithmIdentifier {
  return algorithmIdentifier(cursor.next());
}

/**
 * Whether two AlgorithmIdentifiers are the same. An absent and a NULL parameter are (RFC 4055 2.1),
 * but not for RSASSA-PSS, where an absent one stands for SHA-1 and NULL for nothing.
 */
export function isSameAlgorithm(one: AlgorithmIdentifier, other: AlgorithmIdentifier): boolean {
  if (one.oid !== other.oid) return false;
  const [parameters, others] = [one, other].map(significantParameters);
  return parameters === others;
}

const NULL_HEX = derNull().toString('hex');

function significantParameters({ oid, parameters }: AlgorithmIdentifier): string | undefined {
  const encoded = parameters?.toString('hex');
  return encoded === NULL_HEX && oid !== Oid.rsassaPss ? undefined : encoded;
}
