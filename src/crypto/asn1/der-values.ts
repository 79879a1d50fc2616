import { type Asn1Element, invalidAsn1, Tag } from './der-reader.js';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The two's complement octets of an INTEGER; DER's shortest form is required. */
export function integerOctets(element: Asn1Element): Buffer {
  const { content } = element;
  const first = content[0];
  const second = content[1];
  if (element.tag !== Tag.integer || first === undefined) throw invalidAsn1('bad integer');
  const padded =
    second !== undefined && ((first === 0 && second < 0x80) || (first === 0xff && second >= 0x80));
  if (padded && !element.document.ber) throw invalidAsn1('integer not minimal');
  return content;
}

/** A small non-negative INTEGER such as a version; at most 31 bits. */
export function smallInteger(element: Asn1Element): number {
  const octets = integerOctets(element);
  if (octets.length > 4) throw invalidAsn1('integer too large');
  const value = octets.readIntBE(0, octets.length);
  if (value < 0) throw invalidAsn1('negative integer');
  return value;
}

/** X.690 11.1: 00 or FF in DER, any octet in BER. Throws `invalid_asn1`. */
export function booleanValue(element: Asn1Element): boolean {
  const value = element.content[0];
  if (element.tag !== Tag.boolean || element.content.length !== 1) throw invalidAsn1('bad boolean');
  if (value !== 0 && value !== 0xff && !element.document.ber) throw invalidAsn1('bad boolean');
  return value !== 0;
}

/** The octets of a BIT STRING and the count of unused bits in the last one. */
export function bitString(element: Asn1Element): { octets: Buffer; unusedBits: number } {
  const unusedBits = element.content[0] ?? 8;
  const octets = element.content.subarray(1);
  if (element.tag !== Tag.bitString || unusedBits > 7) throw invalidAsn1('bad bit string');
  if (octets.length === 0 && unusedBits > 0) throw invalidAsn1('bad bit string');
  return { octets, unusedBits };
}

/** The octets of a BIT STRING that must hold whole octets (keys and signatures). */
export function wholeOctets(element: Asn1Element): Buffer {
  const { octets, unusedBits } = bitString(element);
  if (unusedBits !== 0) throw invalidAsn1('bit string with unused bits');
  return octets;
}

/** The text of any ASN.1 string type used in names and attributes; undefined for other types. */
export function stringValue(element: Asn1Element): string | undefined {
  switch (element.tag) {
    case Tag.utf8String:
      return decodeUtf8(element.content);
    case Tag.printableString:
    case Tag.ia5String:
    case Tag.numericString:
    case Tag.visibleString:
    case Tag.t61String:
      return element.content.toString('latin1');
    case Tag.bmpString:
      return decodeWide(element.content, 2);
    case Tag.universalString:
      return decodeWide(element.content, 4);
    default:
      return undefined;
  }
}

const utcTime = /^(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/;
const generalizedTime = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/;

/** A UTCTime or GeneralizedTime in the profile of RFC 5280 4.1.2.5: seconds, `Z`, no fraction. */
export function timeValue(element: Asn1Element): Date {
  if (element.tag !== Tag.utcTime && element.tag !== Tag.generalizedTime) {
    throw invalidAsn1('bad time');
  }
  const [year, month, day, hour, minute, second] = timeParts(element);
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second);
  const real = date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  if (!real || hour > 23 || minute > 59 || second > 59) throw invalidAsn1('bad time');
  return date;
}

function decodeUtf8(octets: Buffer): string {
  try {
    return utf8.decode(octets);
  } catch (cause) {
    throw invalidAsn1('bad UTF-8', cause);
  }
}

function decodeWide(octets: Buffer, width: 2 | 4): string {
  if (octets.length % width !== 0) throw invalidAsn1('bad string length');
  let text = '';
  for (let offset = 0; offset < octets.length; offset += width) {
    const point = octets.readUIntBE(offset, width);
    if (point > 0x10ffff) throw invalidAsn1('bad character');
    text += width === 2 ? String.fromCharCode(point) : String.fromCodePoint(point);
  }
  return text;
}

function timeParts(element: Asn1Element): [number, number, number, number, number, number] {
  const pattern = element.tag === Tag.utcTime ? utcTime : generalizedTime;
  const match = pattern.exec(element.content.toString('latin1'));
  if (match === null) throw invalidAsn1('bad time');
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match
    .slice(1)
    .map(Number);
  if (element.tag !== Tag.utcTime) return [year, month, day, hour, minute, second];
  // RFC 5280 4.1.2.5.1: two-digit years from 50 on belong to the last century.
  return [year < 50 ? 2000 + year : 1900 + year, month, day, hour, minute, second];
}
