import type { PlistValue } from '../../../src/protocol/plist/plist.js';

/** Builds binary property lists object by object, right or wrong ones. */
export class BinaryPlist {
  readonly objects: Buffer[] = [];

  /** Adds an object's bytes and returns its number. */
  add(...parts: (number | Buffer)[]): number {
    const bytes = parts.map((part) => (typeof part === 'number' ? Buffer.from([part]) : part));
    return this.objects.push(Buffer.concat(bytes)) - 1;
  }

  value(value: PlistValue): number {
    if (typeof value === 'boolean') return this.add(value ? 9 : 8);
    if (typeof value === 'string') return this.text(value);
    if (typeof value === 'number' && !Number.isInteger(value)) return this.add(0x23, double(value));
    if (typeof value === 'number' || typeof value === 'bigint') return this.integer(BigInt(value));
    if (value instanceof Date) {
      return this.add(0x33, double((value.getTime() - Date.UTC(2001, 0, 1)) / 1000));
    }
    if (Buffer.isBuffer(value)) return this.add(head(4, value.length), value);
    if (Array.isArray(value)) return this.array(value.map((element) => this.value(element)));
    const keys = Object.keys(value).map((key) => this.value(key));
    const values = Object.values(value).map((member) => this.value(member));
    return this.add(head(0xd, keys.length), refs([...keys, ...values]));
  }

  array(elements: number[]): number {
    return this.add(head(0xa, elements.length), refs(elements));
  }

  text(text: string): number {
    if (/^[\0-\x7f]*$/.test(text)) return this.add(head(5, text.length), Buffer.from(text));
    return this.add(head(6, text.length), Buffer.from(text, 'utf16le').swap16());
  }

  integer(value: bigint): number {
    if (value >= 0n && value < 256n) return this.add(0x10, Number(value));
    if (value >= 0n && value < 65536n) return this.add(0x11, hex(value, 4));
    if (value >= 0n && value < 1n << 32n) return this.add(0x12, hex(value, 8));
    if (value < 1n << 63n) return this.add(0x13, hex(BigInt.asUintN(64, value), 16));
    return this.add(0x14, hex(value, 32));
  }

  /** The document, its references two bytes and its offsets four bytes long. */
  bytes(top: number, trailer: { [field: string]: number } = {}): Buffer {
    const parts = [Buffer.from('bplist00'), ...this.objects];
    const offsets: Buffer[] = [];
    let at = 8;
    for (const object of this.objects) {
      offsets.push(hex(BigInt(at), 8));
      at += object.length;
    }
    const fields = {
      offsetSize: 4,
      refSize: 2,
      count: this.objects.length,
      top,
      table: at,
      ...trailer,
    };
    const tail = Buffer.concat([
      Buffer.from([0, 0, 0, 0, 0, 0, fields.offsetSize, fields.refSize]),
      ...[fields.count, fields.top, fields.table].map((field) => hex(BigInt(field), 16)),
    ]);
    return Buffer.concat([...parts, ...offsets, tail]);
  }
}

export function binaryPlist(value: PlistValue): Buffer {
  const document = new BinaryPlist();
  return document.bytes(document.value(value));
}

export function refs(numbers: number[]): Buffer {
  return Buffer.concat(numbers.map((number) => hex(BigInt(number), 4)));
}

export function head(type: number, count: number): Buffer {
  if (count < 15) return Buffer.from([(type << 4) | count]);
  return Buffer.concat([Buffer.from([(type << 4) | 15, 0x12]), hex(BigInt(count), 8)]);
}

function hex(value: bigint, digits: number): Buffer {
  return Buffer.from(value.toString(16).padStart(digits, '0'), 'hex');
}

function double(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(value);
  return bytes;
}
