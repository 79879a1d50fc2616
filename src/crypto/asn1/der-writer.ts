import { contextTag, primitiveContextTag, Tag } from './der-reader.js';
import { encodeOid } from './oids.js';

/** One element: identifier octet, shortest definite length, the parts as content. */
export function derElement(tag: number, ...parts: Buffer[]): Buffer {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  return Buffer.concat([derHeader(tag, length), ...parts]);
}

/** SEQUENCE of encoded members. */
export function derSequence(...parts: Buffer[]): Buffer {
  return derElement(Tag.sequence, ...parts);
}

/** The content of a SET OF: members in the order DER wants (X.690 11.6). */
export function sortSetMembers(members: Buffer[]): Buffer[] {
  return [...members].sort(Buffer.compare);
}

/** SET OF encoded members, sorted (X.690 11.6). */
export function derSet(...members: Buffer[]): Buffer {
  return derElement(Tag.set, ...sortSetMembers(members));
}

/** `[n] EXPLICIT`, or any implicit constructed type given its content. */
export function derContext(number: number, ...parts: Buffer[]): Buffer {
  return derElement(contextTag(number), ...parts);
}

/** `[n] IMPLICIT` of a primitive type. */
export function derPrimitiveContext(number: number, content: Buffer): Buffer {
  return derElement(primitiveContextTag(number), content);
}

/** A non-negative INTEGER below 2^31. */
export function derInteger(value: number): Buffer {
  const octets = Buffer.alloc(4);
  octets.writeUInt32BE(value);
  return derUnsigned(octets);
}

/** A non-negative INTEGER from its big-endian magnitude. */
export function derUnsigned(magnitude: Buffer): Buffer {
  const first = magnitude.findIndex((octet) => octet !== 0);
  const shortest = first === -1 ? Buffer.alloc(1) : magnitude.subarray(first);
  const sign = (shortest[0] ?? 0) >= 0x80 ? Buffer.alloc(1) : Buffer.alloc(0);
  return derElement(Tag.integer, sign, shortest);
}

export function derBoolean(value: boolean): Buffer {
  return derElement(Tag.boolean, Buffer.from([value ? 0xff : 0]));
}

export function derNull(): Buffer {
  return derElement(Tag.null);
}

/** OBJECT IDENTIFIER from its dotted form. Throws `invalid_asn1`. */
export function derOid(dotted: string): Buffer {
  return derElement(Tag.oid, encodeOid(dotted));
}

export function derOctetString(octets: Buffer): Buffer {
  return derElement(Tag.octetString, octets);
}

/** BIT STRING; `unusedBits` counts those of the last octet. */
export function derBitString(octets: Buffer, unusedBits = 0): Buffer {
  return derElement(Tag.bitString, Buffer.from([unusedBits]), octets);
}

export function derUtf8String(text: string): Buffer {
  return derElement(Tag.utf8String, Buffer.from(text, 'utf8'));
}

export function derPrintableString(text: string): Buffer {
  return derElement(Tag.printableString, Buffer.from(text, 'latin1'));
}

export function derIa5String(text: string): Buffer {
  return derElement(Tag.ia5String, Buffer.from(text, 'latin1'));
}

/** UTCTime through 2049, GeneralizedTime from 2050 (RFC 5280 4.1.2.5); milliseconds are cut off. */
export function derTime(date: Date): Buffer {
  const digits = date.toISOString().replace(/\.\d+Z$|[-:T]/g, '');
  const year = date.getUTCFullYear();
  const short = year >= 1950 && year < 2050;
  const tag = short ? Tag.utcTime : Tag.generalizedTime;
  return derElement(tag, Buffer.from(`${short ? digits.slice(2) : digits}Z`, 'latin1'));
}

function derHeader(tag: number, length: number): Buffer {
  if (length < 0x80) return Buffer.from([tag, length]);
  const octets: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) octets.unshift(rest % 256);
  return Buffer.from([tag, 0x80 | octets.length, ...octets]);
}
