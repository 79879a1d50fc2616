import { isAscii } from 'node:buffer';
import { addEntry, type PlistNode, type PlistRead, wholeSeconds } from './plist-node.js';
import { toPlistInteger } from './plist-scalars.js';
import {
  hasIllegalCharacter,
  invalidPlist,
  newDict,
  type PlistLimits,
  type PlistValue,
} from './plist-value.js';

const TRAILER_SIZE = 32;
const HEADER_SIZE = 8;
/** 2001-01-01T00:00:00Z, the epoch of binary dates. */
const APPLE_EPOCH_MS = 978_307_200_000;
// The years that ISO 8601, and so the XML form, can write.
const FIRST_DATE_MS = Date.parse('0000-01-01T00:00:00Z');
const LAST_DATE_MS = Date.parse('9999-12-31T23:59:59Z');

/**
 * Reads a binary property list (`bplist00`). Objects may be referred to more than once, so what
 * counts against the limits is the document with every reference followed; a cycle ends at the
 * depth limit. Sets, null and the UIDs of keyed archives are refused. Throws AppError
 * invalid_plist.
 */
export function readBinaryPlist(bytes: Buffer, limits: PlistLimits): PlistValue {
  return new BinaryReader(bytes, limits, false).read() as PlistValue;
}

/** The same without loss; two equal keys in a dictionary are refused. */
export function readBinaryNodes(bytes: Buffer, limits: PlistLimits): PlistNode {
  return new BinaryReader(bytes, limits, true).read() as PlistNode;
}

interface Leaf {
  value: PlistRead;
  size: number;
}

class BinaryReader {
  private readonly offsets: number[] = [];
  private readonly leaves = new Map<number, Leaf>();
  private readonly refSize: number;
  private readonly end: number;
  private readonly top: number;
  private nodes = 0;
  private expanded = 0;

  constructor(
    private readonly bytes: Buffer,
    private readonly limits: PlistLimits,
    private readonly exact: boolean,
  ) {
    if (bytes.length < HEADER_SIZE + TRAILER_SIZE + 2) this.fail('too short');
    const trailer = bytes.length - TRAILER_SIZE;
    const offsetSize = bytes.readUInt8(trailer + 6);
    this.refSize = bytes.readUInt8(trailer + 7);
    const count = this.unsigned(trailer + 8, 8);
    this.top = this.unsigned(trailer + 16, 8);
    this.end = this.unsigned(trailer + 24, 8);
    if (![offsetSize, this.refSize].every((size) => size >= 1 && size <= 8)) this.fail('trailer');
    if (count > limits.maxNodes) this.fail('too many values');
    if (this.end < HEADER_SIZE || this.end + count * offsetSize > trailer) this.fail('trailer');
    for (let index = 0; index < count; index++) {
      this.offsets.push(this.unsigned(this.end + index * offsetSize, offsetSize));
    }
  }

  read(): PlistRead {
    return this.object(this.top, 0);
  }

  private object(index: number, depth: number): PlistRead {
    if (++this.nodes > this.limits.maxNodes) this.fail('too many values');
    const known = this.leaves.get(index);
    if (known !== undefined) return this.charged(known);
    const offset = this.offsets[index];
    if (offset === undefined || offset < HEADER_SIZE || offset >= this.end) this.fail('reference');
    const marker = this.bytes.readUInt8(offset);
    const type = marker >> 4;
    if (type === 0xa || type === 0xd) {
      if (depth >= this.limits.maxDepth) this.fail('nested too deep');
      return type === 0xa ? this.array(offset, depth) : this.dict(offset, depth);
    }
    const leaf = this.leaf(offset, marker);
    this.leaves.set(index, leaf);
    return this.charged(leaf);
  }

  private charged(leaf: Leaf): PlistRead {
    this.expanded += leaf.size;
    if (this.expanded > this.limits.maxBytes) this.fail('too large');
    return leaf.value;
  }

  private leaf(offset: number, marker: number): Leaf {
    const low = marker & 0x0f;
    switch (marker >> 4) {
      case 0x0:
        if (low !== 8 && low !== 9) return this.fail('null or unknown simple value');
        return { value: low === 9, size: 1 };
      case 0x1:
        return { value: this.number(offset + 1, 2 ** low), size: 8 };
      case 0x2:
        return { value: this.real(offset + 1, 2 ** low), size: 8 };
      case 0x3:
        return { value: this.date(offset + 1, low), size: 8 };
      case 0x4: {
        const data = this.run(offset, 1);
        return { value: Buffer.from(data), size: data.length };
      }
      case 0x5:
        return this.text(this.run(offset, 1), false);
      case 0x6:
        return this.text(this.run(offset, 2), true);
      default:
        return this.fail('object of a type property lists do not have');
    }
  }

  private array(offset: number, depth: number): PlistRead[] {
    const { start, count } = this.extent(offset, this.refSize);
    const values: PlistRead[] = [];
    for (let item = 0; item < count; item++) {
      values.push(this.object(this.unsigned(start + item * this.refSize, this.refSize), depth + 1));
    }
    return values;
  }

  private dict(offset: number, depth: number): PlistRead {
    const { start, count } = this.extent(offset, 2 * this.refSize);
    const dict = this.exact ? new Map<string, PlistRead>() : newDict();
    for (let item = 0; item < count; item++) {
      const at = start + item * this.refSize;
      const key = this.object(this.unsigned(at, this.refSize), depth + 1);
      if (typeof key !== 'string') this.fail('key that is no string');
      const reference = this.unsigned(at + count * this.refSize, this.refSize);
      const value = this.object(reference, depth + 1);
      if (dict instanceof Map) addEntry(dict, key, value);
      else dict[key] = value as PlistValue;
    }
    return dict;
  }

  /**
   * Where an object's content starts and how many units of `unit` bytes it holds, all in bounds.
   */
  private extent(offset: number, unit: number): { start: number; count: number } {
    const low = this.bytes.readUInt8(offset) & 0x0f;
    let start = offset + 1;
    let count = low;
    if (low === 0x0f) {
      const marker = start < this.end ? this.bytes.readUInt8(start) : 0;
      const size = 2 ** (marker & 0x0f);
      if (marker >> 4 !== 1 || size > 8) this.fail('length');
      count = this.unsigned(start + 1, size);
      start += 1 + size;
    }
    if (start + count * unit > this.end) this.fail('object beyond the end');
    return { start, count };
  }

  private run(offset: number, unit: number): Buffer {
    const { start, count } = this.extent(offset, unit);
    return this.bytes.subarray(start, start + count * unit);
  }

  private text(encoded: Buffer, wide: boolean): Leaf {
    if (!wide && !isAscii(encoded)) this.fail('text that is not ASCII');
    const value = wide
      ? Buffer.from(encoded).swap16().toString('utf16le')
      : encoded.toString('latin1');
    if (hasIllegalCharacter(value)) this.fail('illegal character');
    return { value, size: encoded.length };
  }

  private number(start: number, size: number): number | bigint {
    const value = this.integer(start, size);
    return this.exact ? BigInt(value) : value;
  }

  /** One, two and four bytes are unsigned, eight and sixteen are two's complement. */
  private integer(start: number, size: number): number | bigint {
    if (size > 16 || start + size > this.end) this.fail('integer');
    if (size < 8) return this.bytes.readUIntBE(start, size);
    if (size === 8) return toPlistInteger(this.bytes.readBigInt64BE(start));
    const high = this.bytes.readBigInt64BE(start);
    return toPlistInteger((high << 64n) | this.bytes.readBigUInt64BE(start + 8));
  }

  private real(start: number, size: number): number {
    if ((size !== 4 && size !== 8) || start + size > this.end) this.fail('real');
    return size === 4 ? this.bytes.readFloatBE(start) : this.bytes.readDoubleBE(start);
  }

  private date(start: number, low: number): Date {
    if (low !== 3) this.fail('date');
    const time = APPLE_EPOCH_MS + this.real(start, 8) * 1000;
    if (!(time >= FIRST_DATE_MS && time <= LAST_DATE_MS)) this.fail('date out of range');
    return this.exact ? wholeSeconds(new Date(time)) : new Date(time);
  }

  private unsigned(start: number, size: number): number {
    if (start + size > this.bytes.length) this.fail('object beyond the end');
    if (size <= 6) return this.bytes.readUIntBE(start, size);
    let value = 0;
    for (let byte = 0; byte < size; byte++)
      value = value * 256 + this.bytes.readUInt8(start + byte);
    return value;
  }

  private fail(reason: string): never {
    throw invalidPlist(`binary: ${reason}`);
  }
}
