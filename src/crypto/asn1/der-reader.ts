import { AppError } from '../../errors.js';
import { decodeOid } from './oids.js';

const MAX_DEPTH = 32;
const MAX_ELEMENTS = 262_144;
/**
 * Segments of all BER strings of a document. Tools cut at a kilobyte or more, so 64 MB at least.
 */
const MAX_SEGMENTS = 65_536;
const MAX_LENGTH_OCTETS = 4;

/** Identifier octets of the universal types used by X.509 and CMS. */
export const Tag = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  enumerated: 0x0a,
  utf8String: 0x0c,
  numericString: 0x12,
  printableString: 0x13,
  t61String: 0x14,
  ia5String: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
  visibleString: 0x1a,
  universalString: 0x1c,
  bmpString: 0x1e,
  sequence: 0x30,
  set: 0x31,
  constructedOctetString: 0x24,
} as const;

/**
 * The identifier octet of a constructed context-specific tag: `[n]` explicit, or implicit SET etc.
 */
export function contextTag(number: number): number {
  return 0xa0 | number;
}

/** The identifier octet of a primitive context-specific tag: `[n]` implicit. */
export function primitiveContextTag(number: number): number {
  return 0x80 | number;
}

/** AppError `invalid_asn1` 400, the one error of every reader of ASN.1. */
export function invalidAsn1(why: string, cause?: unknown): AppError {
  return new AppError('invalid_asn1', 400, `malformed ASN.1: ${why}`, { cause });
}

interface Document {
  readonly bytes: Buffer;
  readonly ber: boolean;
  elementsLeft: number;
  segmentsLeft: number;
}

/** One type-length-value, a view on the input: nothing is copied. */
export class Asn1Element {
  constructor(
    readonly document: Document,
    readonly tag: number,
    readonly start: number,
    readonly contentStart: number,
    readonly contentEnd: number,
    readonly end: number,
    readonly depth: number,
  ) {}

  /** Header, content and, for an indefinite length, the end-of-contents octets. */
  get raw(): Buffer {
    return this.document.bytes.subarray(this.start, this.end);
  }

  get content(): Buffer {
    return this.document.bytes.subarray(this.contentStart, this.contentEnd);
  }

  get constructed(): boolean {
    return (this.tag & 0x20) !== 0;
  }

  get indefinite(): boolean {
    return this.end !== this.contentEnd;
  }

  /** The members of an element that must be a SEQUENCE. */
  sequence(): Asn1Cursor {
    if (this.tag !== Tag.sequence) throw invalidAsn1('not a sequence');
    return this.children();
  }

  children(): Asn1Cursor {
    if (!this.constructed) throw invalidAsn1('a primitive element has no members');
    return new Asn1Cursor(this.document, this.contentStart, this.contentEnd, this.depth + 1);
  }

  /** The octets of a string type, joined when BER cut it into segments (X.690 8.7.3). */
  octets(): Buffer {
    if (!this.constructed) return this.content;
    if (!this.document.ber) throw invalidAsn1('a constructed string is not DER');
    const segments: Buffer[] = [];
    const cursor = this.children();
    while (!cursor.done) {
      spendSegment(this.document);
      segments.push(cursor.octetString());
    }
    return Buffer.concat(segments);
  }
}

/** Reads the members of one constructed element in order. Every fault throws `invalid_asn1`. */
export class Asn1Cursor {
  readonly #document: Document;
  readonly #limit: number;
  readonly #depth: number;
  #position: number;

  constructor(document: Document, position: number, limit: number, depth: number) {
    this.#document = document;
    this.#position = position;
    this.#limit = limit;
    this.#depth = depth;
  }

  get done(): boolean {
    return this.#position >= this.#limit;
  }

  /** The identifier octet of the next member, or -1 at the end. */
  get tag(): number {
    return this.done ? -1 : (this.#document.bytes[this.#position] ?? -1);
  }

  next(tag?: number): Asn1Element {
    if (tag !== undefined && this.tag !== tag) {
      throw invalidAsn1(`expected tag 0x${tag.toString(16)} at offset ${this.#position}`);
    }
    const element = readElement(this.#document, this.#position, this.#limit, this.#depth);
    this.#position = element.end;
    return element;
  }

  optional(tag: number): Asn1Element | undefined {
    return this.tag === tag ? this.next() : undefined;
  }

  sequence(): Asn1Cursor {
    return this.next(Tag.sequence).children();
  }

  set(): Asn1Cursor {
    return this.next(Tag.set).children();
  }

  /** An object identifier in dotted form. */
  oid(): string {
    const { contentStart, contentEnd } = this.next(Tag.oid);
    return decodeOid(this.#document.bytes, contentStart, contentEnd);
  }

  octetString(): Buffer {
    const constructed = this.#document.ber && this.tag === Tag.constructedOctetString;
    return this.next(constructed ? Tag.constructedOctetString : Tag.octetString).octets();
  }

  /** Refuses members that the type does not have. */
  finish(): void {
    if (!this.done) throw invalidAsn1(`unexpected element at offset ${this.#position}`);
  }
}

/**
 * Reads one element in strict DER (X.690 clause 10): shortest definite lengths, primitive strings,
 * nothing after the element. Members are checked as they are read.
 * @throws AppError `invalid_asn1`
 */
export function readDer(bytes: Buffer): Asn1Element {
  return readWhole(bytes, false);
}

/** As `readDer`, but accepts BER: indefinite lengths, longer lengths, segmented OCTET STRINGs. */
export function readBer(bytes: Buffer): Asn1Element {
  return readWhole(bytes, true);
}

/** Limit on segments: each allocates a view, even if it is short. */
function spendSegment(document: Document): void {
  document.segmentsLeft -= 1;
  if (document.segmentsLeft < 0) throw invalidAsn1('too many segments');
}

function readElement(document: Document, start: number, limit: number, depth: number): Asn1Element {
  const { bytes } = document;
  document.elementsLeft -= 1;
  if (depth > MAX_DEPTH) throw invalidAsn1('nested too deeply');
  if (document.elementsLeft < 0) throw invalidAsn1('too many elements');
  if (start + 2 > limit) throw invalidAsn1('truncated');
  const tag = bytes[start] ?? 0;
  if (tag === 0 || (tag & 0x1f) === 0x1f) throw invalidAsn1(`bad tag at offset ${start}`);
  const first = bytes[start + 1] ?? 0;
  if (first === 0x80) return readIndefinite(document, start, limit, depth);
  const contentStart = start + 2 + (first < 0x80 ? 0 : first & 0x7f);
  if (contentStart > limit) throw invalidAsn1('truncated');
  const length = first < 0x80 ? first : readLongLength(document, start + 2, contentStart);
  const end = contentStart + length;
  if (end > limit) throw invalidAsn1('truncated');
  return new Asn1Element(document, tag, start, contentStart, end, end, depth);
}

function readIndefinite(
  document: Document,
  start: number,
  limit: number,
  depth: number,
): Asn1Element {
  const { bytes, ber } = document;
  const tag = bytes[start] ?? 0;
  if (!ber || (tag & 0x20) === 0) throw invalidAsn1('indefinite length');
  let position = start + 2;
  while (bytes[position] !== 0 || bytes[position + 1] !== 0 || position + 2 > limit) {
    position = readElement(document, position, limit, depth + 1).end;
  }
  return new Asn1Element(document, tag, start, start + 2, position, position + 2, depth);
}

function readLongLength(document: Document, start: number, end: number): number {
  const octets = end - start;
  if (octets > MAX_LENGTH_OCTETS) throw invalidAsn1('length too large');
  const { bytes, ber } = document;
  let length = 0;
  for (let at = start; at < end; at += 1) length = length * 256 + (bytes[at] ?? 0);
  const minimal = length >= 0x80 && bytes[start] !== 0;
  if (!minimal && !ber) throw invalidAsn1('length not minimal');
  return length;
}

function readWhole(bytes: Buffer, ber: boolean): Asn1Element {
  const document = { bytes, ber, elementsLeft: MAX_ELEMENTS, segmentsLeft: MAX_SEGMENTS };
  const element = readElement(document, 0, bytes.length, 0);
  if (element.end !== bytes.length) throw invalidAsn1('trailing bytes');
  return element;
}
