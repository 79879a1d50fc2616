import forge from 'node-forge';
import { AppError } from '../../errors.js';

const { asn1 } = forge;
const { Type, Class } = asn1;

/** One DER element in node-forge's form. */
export type Node = forge.asn1.Asn1;

/** Binary strings are node-forge's form of bytes. */
export function toBinary(bytes: Buffer): string {
  return bytes.toString('latin1');
}

export function fromBinary(binary: string): Buffer {
  return Buffer.from(binary, 'latin1');
}

/** AppError invalid_asn1. */
export function readNode(der: Buffer): Node {
  try {
    return asn1.fromDer(toBinary(der));
  } catch (cause) {
    throw new AppError('invalid_asn1', 400, 'not DER', { cause });
  }
}

export function writeNode(node: Node): Buffer {
  return fromBinary(asn1.toDer(node).getBytes());
}

/** The members of a constructed element; none of a primitive one. */
export function childrenOf(node: Node | undefined): Node[] {
  return Array.isArray(node?.value) ? node.value : [];
}

/** The content of a primitive element, or of a constructed string (BER). */
export function bytesOf(node: Node | undefined): Buffer {
  if (node === undefined) return Buffer.alloc(0);
  if (typeof node.value === 'string') return fromBinary(node.value);
  return Buffer.concat(node.value.map(bytesOf));
}

export function oidOf(node: Node | undefined): string {
  return asn1.derToOid(toBinary(bytesOf(node)));
}

export function isContext(node: Node | undefined, tag: number): boolean {
  return node?.tagClass === Class.CONTEXT_SPECIFIC && Number(node.type) === tag;
}

export function sequence(...members: Node[]): Node {
  return asn1.create(Class.UNIVERSAL, Type.SEQUENCE, true, members);
}

/** Sorts the members, as DER requires of a SET OF. */
export function setOf(...members: Node[]): Node {
  const sorted = members
    .map((member) => ({ member, der: writeNode(member) }))
    .sort((a, b) => Buffer.compare(a.der, b.der))
    .map(({ member }) => member);
  return asn1.create(Class.UNIVERSAL, Type.SET, true, sorted);
}

export function context(tag: number, members: Node[] | string): Node {
  return asn1.create(Class.CONTEXT_SPECIFIC, tag, typeof members !== 'string', members);
}

export function oid(dotted: string): Node {
  return asn1.create(Class.UNIVERSAL, Type.OID, false, asn1.oidToDer(dotted).getBytes());
}

export function integer(value: number): Node {
  const bytes = asn1.integerToDer(value).getBytes();
  return asn1.create(Class.UNIVERSAL, Type.INTEGER, false, bytes);
}

export function nullNode(): Node {
  return asn1.create(Class.UNIVERSAL, Type.NULL, false, '');
}

export function octets(bytes: Buffer): Node {
  return asn1.create(Class.UNIVERSAL, Type.OCTETSTRING, false, toBinary(bytes));
}

export function printable(text: string): Node {
  return asn1.create(Class.UNIVERSAL, Type.PRINTABLESTRING, false, text);
}

export function utf8(text: string): Node {
  return asn1.create(Class.UNIVERSAL, Type.UTF8, false, toBinary(Buffer.from(text)));
}

export function utcTime(date: Date): Node {
  return asn1.create(Class.UNIVERSAL, Type.UTCTIME, false, asn1.dateToUtcTime(date));
}
