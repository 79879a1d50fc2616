import { createHash } from 'node:crypto';

const UINT32 = 0x1_0000_0000;

/** Repeatable random choices: the same seed makes the same fleet. Never used for keys. */
export class Random {
  private readonly state: Uint32Array;

  constructor(private readonly seed: string) {
    const digest = createHash('sha256').update(seed).digest();
    this.state = Uint32Array.from([0, 4, 8, 12], (offset) => digest.readUInt32LE(offset));
  }

  /** An independent sequence, so that what one part draws does not shift another part's draws. */
  fork(label: string): Random {
    return new Random(`${this.seed}/${label}`);
  }

  /** 0 <= fraction < 1 (xoshiro128**). */
  fraction(): number {
    const s = this.state as unknown as [number, number, number, number];
    const product = Math.imul(s[1], 5);
    const result = Math.imul((product << 7) | (product >>> 25), 9) >>> 0;
    const shifted = s[1] << 9;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = (s[3] << 11) | (s[3] >>> 21);
    return result / UINT32;
  }

  /** A whole number from min to max, both included. */
  integer(min: number, max: number): number {
    return min + Math.floor(this.fraction() * (max - min + 1));
  }

  /** From min to max, small values as likely as large ones on a logarithmic scale. */
  scaled(min: number, max: number): number {
    return Math.round(min * (max / min) ** this.fraction());
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.integer(0, list.length - 1)] as T;
  }

  /** `count` different members in random order. */
  sample<T>(list: readonly T[], count: number): T[] {
    const rest = [...list];
    const chosen: T[] = [];
    while (chosen.length < count && rest.length > 0) {
      chosen.push(...rest.splice(this.integer(0, rest.length - 1), 1));
    }
    return chosen;
  }

  text(alphabet: string, length: number): string {
    return Array.from({ length }, () => this.pick([...alphabet])).join('');
  }

  bytes(length: number): Buffer {
    return Buffer.from(Array.from({ length }, () => this.integer(0, 255)));
  }

  /** A version 4 UUID in upper case, as Apple writes them. */
  uuid(): string {
    const bytes = this.bytes(16);
    bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x40, 6);
    bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
    const hex = bytes.toString('hex').toUpperCase();
    return [8, 12, 16, 20, 32].map((end, i) => hex.slice([0, 8, 12, 16, 20][i], end)).join('-');
  }

  /** Six octets with colons, in lower case. */
  mac(): string {
    const bytes = this.bytes(6);
    bytes.writeUInt8(bytes.readUInt8(0) & 0xfc, 0);
    return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join(':');
  }
}
