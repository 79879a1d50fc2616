import { hash } from 'node:crypto';
import { digestBytes } from '../keys/digests.js';
import type { OaepParameters } from '../keys/rsa-parameters.js';

/** Zero when the octet is zero, else one, without a branch. */
function isNotZero(octet: number): number {
  return 1 - (((octet - 1) >>> 31) & 1);
}

/** The real key, or the stand-in when `bad` is not zero, without a branch. */
function choose(real: Buffer, standIn: Buffer, bad: number): Buffer {
  const mask = -isNotZero(bad) & 0xff;
  const key = Buffer.alloc(standIn.length);
  for (let index = 0; index < key.length; index += 1) {
    key[index] = ((real[index] ?? 0) & ~mask) | ((standIn[index] ?? 0) & mask);
  }
  return key;
}

/**
 * The content key out of an RSA PKCS #1 v1.5 block (RFC 8017 7.2.2): node refuses this padding, and
 * a visible failure would be Bleichenbacher's oracle. The length of the key is known, so the place
 * of the separator is too, and the check runs over every octet. A bad block yields the stand-in.
 */
export function unpadPkcs1(block: Buffer, standIn: Buffer): Buffer {
  const separator = block.length - standIn.length - 1;
  let bad = (block[0] ?? 1) | ((block[1] ?? 0) ^ 2) | (block[separator] ?? 1);
  for (let index = 2; index < separator; index += 1) bad |= 1 - isNotZero(block[index] ?? 0);
  return choose(block.subarray(separator + 1), standIn, bad);
}

/** MGF1 (RFC 8017 B.2.1) over the seed, laid upon the octets in place. */
function mask(octets: Buffer, seed: Buffer, { mgf1Digest }: OaepParameters): void {
  const counter = Buffer.alloc(4);
  const size = digestBytes[mgf1Digest];
  for (let start = 0; start < octets.length; start += size) {
    counter.writeUInt32BE(start / size);
    const pad = hash(mgf1Digest, Buffer.concat([seed, counter]), 'buffer');
    const end = Math.min(size, octets.length - start);
    for (let at = 0; at < end; at += 1) {
      octets[start + at] = (octets[start + at] ?? 0) ^ (pad[at] ?? 0);
    }
  }
}

/**
 * The content key out of an RSAES-OAEP block (RFC 8017 7.1.2), as `unpadPkcs1`: telling which check
 * failed, or that one did, would be Manger's oracle. node can't tell the digest of MGF1 apart from
 * the other one, and throws.
 */
export function unpadOaep(block: Buffer, standIn: Buffer, parameters: OaepParameters): Buffer {
  const size = digestBytes[parameters.digest];
  const seed = Buffer.from(block.subarray(1, 1 + size));
  const data = Buffer.from(block.subarray(1 + size));
  mask(seed, data, parameters);
  mask(data, seed, parameters);
  const label = hash(parameters.digest, '', 'buffer');
  const separator = data.length - standIn.length - 1;
  let bad = (block[0] ?? 1) | ((data[separator] ?? 0) ^ 1) | (separator < size ? 1 : 0);
  for (let index = 0; index < size; index += 1) bad |= (data[index] ?? 0) ^ (label[index] ?? 0);
  for (let index = size; index < separator; index += 1) bad |= data[index] ?? 0;
  return choose(data.subarray(separator + 1), standIn, bad);
}
