import {
  type Asn1Cursor,
  type Asn1Element,
  derElement,
  derIa5String,
  derOid,
  derPrintableString,
  derSequence,
  derSet,
  derUtf8String,
  invalidAsn1,
  stringValue,
  Tag,
} from '../asn1/der.js';
import { Oid } from '../asn1/oids.js';

const MAX_ATTRIBUTES = 64;

/** RFC 4514 clause 3, and the other short names that OpenSSL prints and people type. */
const shortNames: Record<string, string> = {
  CN: Oid.commonName,
  SN: Oid.surname,
  SERIALNUMBER: Oid.serialNumber,
  C: Oid.country,
  L: Oid.locality,
  ST: Oid.stateOrProvince,
  STREET: Oid.street,
  O: Oid.organization,
  OU: Oid.organizationalUnit,
  T: Oid.title,
  GN: Oid.givenName,
  UID: Oid.userId,
  DC: Oid.domainComponent,
  emailAddress: Oid.emailAddress,
};
const shortNameByOid = new Map(Object.entries(shortNames).map(([name, oid]) => [oid, name]));
const typesByUpperCase = new Map(Object.keys(shortNames).map((name) => [name.toUpperCase(), name]));
const ia5Types = new Set<string>([Oid.domainComponent, Oid.emailAddress]);
const printableTypes = new Set<string>([Oid.country, Oid.serialNumber]);

/** One attribute to write: a short name such as `CN` or `O`, or a dotted object identifier. */
export interface NameAttribute {
  type: string;
  value: string;
}

/**
 * The type of attribute that a client names in any case, `E` for an e-mail address too, or by its
 * dotted object identifier; undefined for others.
 */
export function nameType(given: string): string | undefined {
  if (/^[0-2](\.\d{1,20}){1,20}$/.test(given)) return shortNameByOid.get(given) ?? given;
  const upper = given.toUpperCase();
  return upper === 'E' ? 'emailAddress' : typesByUpperCase.get(upper);
}

interface ParsedAttribute {
  oid: string;
  value: Asn1Element;
}

export interface ParsedName {
  /** RFC 4514, most specific first; the empty string for the empty name. */
  text: string;
  /** The first value for each type, by dotted object identifier. */
  values: Map<string, string>;
  /** The types with a further value, by dotted object identifier. */
  repeated: string[];
}

/** Reads a Name (RFC 5280 4.1.2.4). Throws `invalid_asn1`. */
export function parseName(element: Asn1Element): ParsedName {
  const rdns: ParsedAttribute[][] = [];
  const values = new Map<string, string>();
  const repeated: string[] = [];
  const cursor = element.children();
  while (!cursor.done) {
    const rdn = parseRdn(cursor);
    rdns.push(rdn);
    for (const { oid, value } of rdn) {
      if (values.has(oid)) repeated.push(oid);
      else values.set(oid, stringValue(value) ?? '');
    }
    if (values.size > MAX_ATTRIBUTES || rdns.length > MAX_ATTRIBUTES) {
      throw invalidAsn1('name too long');
    }
  }
  const text = rdns
    .reverse()
    .map((rdn) => rdn.map(attributeText).join('+'))
    .join(',');
  return { text, values, repeated };
}

/**
 * Writes a Name, one attribute for each relative name, in the order given (least specific first).
 * An unknown short name throws `invalid_asn1`.
 */
export function encodeName(attributes: readonly NameAttribute[]): Buffer {
  const rdns = attributes.map(({ type, value }) => {
    const oid = shortNames[type] ?? type;
    return derSet(derSequence(derOid(oid), encodeValue(oid, value)));
  });
  return derElement(Tag.sequence, ...rdns);
}

function parseRdn(cursor: Asn1Cursor): ParsedAttribute[] {
  const members = cursor.set();
  const attributes: ParsedAttribute[] = [];
  while (!members.done) attributes.push(parseAttribute(members));
  if (attributes.length === 0) throw invalidAsn1('empty relative name');
  return attributes;
}

function parseAttribute(cursor: Asn1Cursor): ParsedAttribute {
  const members = cursor.sequence();
  const attribute = { oid: members.oid(), value: members.next() };
  members.finish();
  return attribute;
}

function attributeText({ oid, value }: ParsedAttribute): string {
  const text = stringValue(value);
  const shown = text === undefined ? `#${value.raw.toString('hex')}` : escapeValue(text);
  return `${shortNameByOid.get(oid) ?? oid}=${shown}`;
}

function escapeValue(value: string): string {
  return value
    .replace(/[\\",;+<>]/g, '\\$&')
    .replace(/\0/g, '\\00')
    .replace(/ $/, '\\ ')
    .replace(/^[ #]/, '\\$&');
}

function encodeValue(oid: string, value: string): Buffer {
  if (ia5Types.has(oid) && /^[\x20-\x7e]*$/.test(value)) return derIa5String(value);
  const printable = printableTypes.has(oid) && /^[A-Za-z0-9 '()+,\-./:=?]*$/.test(value);
  return printable ? derPrintableString(value) : derUtf8String(value);
}
