import type { Random } from '../../../src/lab/devices/random.js';

/** Octets that mean something in ASN.1, property lists, MIME or base64. */
const INTERESTING = [0x00, 0x01, 0x02, 0x05, 0x06, 0x0a, 0x0d, 0x20, 0x24, 0x2d, 0x30, 0x31, 0x3c];
const HIGH = [0x3d, 0x7f, 0x80, 0x81, 0x82, 0x84, 0xa0, 0xa3, 0xfe, 0xff];
const MAX_PIECE_LENGTH = 64;

type Change = (bytes: Buffer, random: Random) => Buffer;

const flipBit: Change = (bytes, random) => {
  const at = place(bytes, random);
  return replaced(bytes, at, (bytes[at] ?? 0) ^ (1 << random.integer(0, 7)));
};

const setOctet: Change = (bytes, random) => {
  const octets = [...INTERESTING, ...HIGH];
  return replaced(bytes, place(bytes, random), octets[random.integer(0, octets.length - 1)] ?? 0);
};

const truncate: Change = (bytes, random) => bytes.subarray(0, place(bytes, random));

const remove: Change = (bytes, random) => {
  const { start, end } = piece(bytes, random);
  return Buffer.concat([bytes.subarray(0, start), bytes.subarray(end)]);
};

const repeat: Change = (bytes, random) => {
  const { start, end } = piece(bytes, random);
  const times = random.integer(2, 6);
  const copies = Array.from({ length: times }, () => bytes.subarray(start, end));
  return Buffer.concat([bytes.subarray(0, start), ...copies, bytes.subarray(end)]);
};

const insert: Change = (bytes, random) => {
  const at = place(bytes, random);
  const length = random.integer(1, 8);
  const noise = Buffer.from(Array.from({ length }, () => random.integer(0, 255)));
  return Buffer.concat([bytes.subarray(0, at), noise, bytes.subarray(at)]);
};

const move: Change = (bytes, random) => {
  const { start, end } = piece(bytes, random);
  const rest = Buffer.concat([bytes.subarray(0, start), bytes.subarray(end)]);
  const at = place(rest, random);
  return Buffer.concat([rest.subarray(0, at), bytes.subarray(start, end), rest.subarray(at)]);
};

/** The bytes in themselves, as an element of ASN.1 inside another. */
const nest: Change = (bytes, random) => {
  const depth = random.integer(1, 40);
  return Array.from({ length: depth }).reduce<Buffer>(
    (inner) => Buffer.concat([Buffer.from([0x30, 0x80]), inner, Buffer.alloc(2)]),
    bytes,
  );
};

const append: Change = (bytes, random) =>
  Buffer.concat([bytes, bytes.subarray(0, random.integer(1, MAX_PIECE_LENGTH))]);

const CHANGES = [
  flipBit,
  flipBit,
  setOctet,
  setOctet,
  truncate,
  remove,
  repeat,
  insert,
  move,
  nest,
  append,
];

/** One to four changes, from a flipped bit to pieces that are moved; the same random, the same bytes. */
export function mutate(bytes: Buffer, random: Random): Buffer {
  let changed = bytes;
  for (let left = random.integer(1, 4); left > 0; left -= 1) {
    const change = CHANGES[random.integer(0, CHANGES.length - 1)] ?? flipBit;
    changed = change(changed, random);
  }
  return changed;
}

function place(bytes: Buffer, random: Random): number {
  return random.integer(0, Math.max(0, bytes.length - 1));
}

function replaced(bytes: Buffer, at: number, octet: number): Buffer {
  const changed = Buffer.from(bytes);
  if (changed.length > 0) changed[at] = octet;
  return changed;
}

function piece(bytes: Buffer, random: Random): { start: number; end: number } {
  const start = place(bytes, random);
  return { start, end: Math.min(bytes.length, start + random.integer(1, MAX_PIECE_LENGTH)) };
}
