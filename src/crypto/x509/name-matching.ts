import { type Asn1Cursor, readDer, stringValue } from '../asn1/der.js';

const MAX_RDNS = 64;
const MAX_ATTRIBUTES = 16;
/** Longer names match only byte for byte: an unauthenticated sender chooses how many there are. */
const MAX_COMPARED_BYTES = 2048;

/**
 * The relative names of a Name (DER), least specific first, each as text that is the same for those
 * that match (RFC 5280 7.1).
 * @throws AppError `invalid_asn1`
 */
export function canonicalName(der: Buffer): string[] {
  const cursor = readDer(der).sequence();
  const rdns: string[] = [];
  while (!cursor.done && rdns.length < MAX_RDNS) rdns.push(canonicalRdn(cursor));
  cursor.finish();
  return rdns;
}

/** Whether two Names (DER) are the same by the rules of RFC 5280 7.1. Malformed ones are not. */
export function isSameName(one: Buffer, other: Buffer): boolean {
  if (one.equals(other)) return true;
  if (Math.max(one.length, other.length) > MAX_COMPARED_BYTES) return false;
  try {
    const [rdns, others] = [canonicalName(one), canonicalName(other)];
    return rdns.length === others.length && isWithinName(rdns, others);
  } catch {
    return false;
  }
}

/** Whether the first name is in the subtree of the second; both come from `canonicalName`. */
export function isWithinName(rdns: readonly string[], base: readonly string[]): boolean {
  return base.every((rdn, index) => rdns[index] === rdn);
}

function canonicalRdn(cursor: Asn1Cursor): string {
  const members = cursor.set();
  const attributes: string[] = [];
  while (!members.done && attributes.length < MAX_ATTRIBUTES) {
    attributes.push(canonicalAttribute(members));
  }
  members.finish();
  return attributes.sort((one, other) => (one < other ? -1 : 1)).join();
}

function canonicalAttribute(cursor: Asn1Cursor): string {
  const members = cursor.sequence();
  const oid = members.oid();
  const value = members.next();
  const text = stringValue(value);
  return JSON.stringify([
    oid,
    text === undefined ? value.raw.toString('hex') : canonicalText(text),
  ]);
}

/** RFC 5280 7.1, in short: ignores the string type, case and repeated spaces. */
function canonicalText(text: string): string {
  return text.trim().replace(/\s+/g, ' ').toLowerCase();
}
