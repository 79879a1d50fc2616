import {
  type Asn1Cursor,
  type Asn1Element,
  contextTag,
  primitiveContextTag,
  readDer,
} from '../../src/crypto/asn1/der.js';
import { Oid } from '../../src/crypto/asn1/oids.js';
import type { AuthorityInfoAccess } from '../../src/crypto/x509/certificate-extensions.js';

/** The URIs of all points in order; points of other kinds are passed over. */
export function readCrlDistributionPoints(value: Buffer): string[] {
  const points = readDer(value).sequence();
  const urls: string[] = [];
  while (!points.done) urls.push(...pointUris(points.sequence()));
  return urls;
}

export function readAuthorityInfoAccess(value: Buffer): AuthorityInfoAccess {
  const members = readDer(value).sequence();
  const found: Record<string, string[]> = { [Oid.ocsp]: [], [Oid.caIssuers]: [] };
  while (!members.done) {
    const access = members.sequence();
    const method = access.oid();
    found[method]?.push(...uriOf(access.next()));
    access.finish();
  }
  return { ocsp: found[Oid.ocsp] ?? [], caIssuers: found[Oid.caIssuers] ?? [] };
}

function pointUris(point: Asn1Cursor): string[] {
  const fullName = point.optional(contextTag(0))?.children().optional(contextTag(0))?.children();
  const urls: string[] = [];
  while (fullName !== undefined && !fullName.done) urls.push(...uriOf(fullName.next()));
  return urls;
}

function uriOf({ tag, content }: Asn1Element): string[] {
  return tag === primitiveContextTag(6) ? [content.toString('latin1')] : [];
}
