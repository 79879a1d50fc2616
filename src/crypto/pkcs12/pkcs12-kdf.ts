import { hash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { DigestName } from '../keys/algorithms.js';

/** The use of the derived bytes, the ID of RFC 7292 B.3. */
export const KeyUse = { encryption: 1, iv: 2, mac: 3 } as const;

export interface Pkcs12KeyOptions {
  /** As `bmpPassword` makes it. */
  password: Buffer;
  salt: Buffer;
  iterations: number;
  digest: DigestName;
  use: (typeof KeyUse)[keyof typeof KeyUse];
  bytes: number;
}

/** Iterations before the event loop runs other work: a few milliseconds. */
const TURN = 2_000;

let lastTurn: Promise<unknown> = Promise.resolve();

/** A password in the form of PKCS #12: UTF-16 big-endian and two zero octets. */
export function bmpPassword(password: string): Buffer {
  return Buffer.from(`${password}\0`, 'utf16le').swap16();
}

/** Key material of PKCS #12 (RFC 7292 B.2). The event loop stays free. */
export async function derivePkcs12Key(options: Pkcs12KeyOptions): Promise<Buffer> {
  const { password, salt, iterations, digest, use, bytes } = options;
  const blockLength = digest === 'sha1' || digest === 'sha256' ? 64 : 128;
  const diversifier = Buffer.alloc(blockLength, use);
  const input = Buffer.concat([fill(blockLength, salt), fill(blockLength, password)]);
  let derived = Buffer.alloc(0);
  while (derived.length < bytes) {
    const start = Buffer.concat([diversifier, input]);
    const block = await hashRepeatedly(start, digest, iterations);
    derived = Buffer.concat([derived, block]);
    const addend = Buffer.alloc(blockLength, block);
    for (let at = 0; at < input.length; at += blockLength) {
      add(input.subarray(at, at + blockLength), addend);
    }
  }
  return derived.subarray(0, bytes);
}

function fill(length: number, pattern: Buffer): Buffer {
  const blocks = Math.ceil(pattern.length / length) * length;
  return pattern.length === 0 ? Buffer.alloc(0) : Buffer.alloc(blocks, pattern);
}

async function hashRepeatedly(first: Buffer, digest: DigestName, times: number): Promise<Buffer> {
  let value = first;
  for (let round = 1; round <= times; round += 1) {
    value = hash(digest, value, 'buffer');
    if (round % TURN === 0) await nextTurn();
  }
  return value;
}

/** Each turn of the event loop runs a slice of one derivation, however many are under way. */
function nextTurn(): Promise<unknown> {
  lastTurn = lastTurn.then(() => setImmediate());
  return lastTurn;
}

/** Adds `addend` and one to a block, as big-endian numbers; the carry out of it is dropped. */
function add(block: Buffer, addend: Buffer): void {
  let carry = 1;
  for (let at = block.length - 1; at >= 0; at -= 1) {
    const sum = (block[at] ?? 0) + (addend[at] ?? 0) + carry;
    block[at] = sum & 0xff;
    carry = sum >> 8;
  }
}
