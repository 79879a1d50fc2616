import { isIPv4, isIPv6 } from 'node:net';
import {
  type Asn1Cursor,
  contextTag,
  derContext,
  derOid,
  derPrimitiveContext,
  derSequence,
  derUtf8String,
  invalidAsn1,
  primitiveContextTag,
  readDer,
  Tag,
} from '../asn1/der.js';

export type GeneralName =
  | { type: 'dns' | 'email' | 'uri' | 'ip'; value: string }
  /** User principal name (Microsoft), the NT principal of Apple's SCEP payload. */
  | { type: 'upn'; value: string };

const UPN_OID = '1.3.6.1.4.1.311.20.2.3';

/** The alternative names of known types, in order. Throws `invalid_asn1`. */
export function readSubjectAltName(value: Buffer): GeneralName[] {
  const members = readDer(value).sequence();
  const names: GeneralName[] = [];
  while (!members.done) {
    const name = readGeneralName(members);
    if (name !== undefined) names.push(name);
  }
  return names;
}

/** DER of the SubjectAltName extension's value. */
export function encodeSubjectAltName(names: readonly GeneralName[]): Buffer {
  return derSequence(...names.map(encodeGeneralName));
}

function readGeneralName(cursor: Asn1Cursor): GeneralName | undefined {
  if (cursor.tag === contextTag(0)) return readOtherName(cursor);
  const element = cursor.next();
  const text = element.content.toString('latin1');
  if (element.tag === primitiveContextTag(1)) return { type: 'email', value: text };
  if (element.tag === primitiveContextTag(2)) return { type: 'dns', value: text };
  if (element.tag === primitiveContextTag(6)) return { type: 'uri', value: text };
  if (element.tag === primitiveContextTag(7)) return { type: 'ip', value: readIp(element.content) };
  return undefined;
}

function readOtherName(cursor: Asn1Cursor): GeneralName | undefined {
  const members = cursor.next(contextTag(0)).children();
  if (members.oid() !== UPN_OID) return undefined;
  const value = members.next(contextTag(0)).children().next(Tag.utf8String);
  return { type: 'upn', value: value.content.toString('utf8') };
}

function readIp(octets: Buffer): string {
  if (octets.length === 4) return [...octets].join('.');
  if (octets.length !== 16) throw invalidAsn1('bad address');
  return (octets.toString('hex').match(/.{4}/g) ?? []).join(':');
}

function encodeGeneralName({ type, value }: GeneralName): Buffer {
  switch (type) {
    case 'email':
      return derPrimitiveContext(1, Buffer.from(value, 'latin1'));
    case 'dns':
      return derPrimitiveContext(2, Buffer.from(value, 'latin1'));
    case 'uri':
      return derPrimitiveContext(6, Buffer.from(value, 'latin1'));
    case 'ip':
      return derPrimitiveContext(7, encodeIp(value));
    case 'upn':
      return derContext(0, derOid(UPN_OID), derContext(0, derUtf8String(value)));
  }
}

function encodeIp(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  if (!isIPv6(address) || address.includes('.')) throw invalidAsn1('bad address');
  const [head = '', tail] = address.split('::');
  const groups = (text: string): string[] => (text === '' ? [] : text.split(':'));
  const after = groups(tail ?? '');
  const missing = 8 - groups(head).length - after.length;
  const all = [...groups(head), ...Array<string>(Math.max(0, missing)).fill('0'), ...after];
  return Buffer.from(all.map((group) => group.padStart(4, '0')).join(''), 'hex');
}
