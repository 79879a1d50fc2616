import { randomBytes } from 'node:crypto';
import { BenchFleet, createFleetSeed, signatureOf } from '../../load/fleet.js';

/** What an attacker without an identity can put into Mdm-Signature. */
export const HELD_KINDS = ['garbage', 'foreign', 'copied', 'copied from many'] as const;
export type HeldKind = (typeof HELD_KINDS)[number];

const OTHER_BYTES = Buffer.from('the body of another message');
const MANY = 200;

/**
 * `garbage`: random bytes; `foreign`: well-formed, of another CA; `copied`: of a certificate of a device
 * that is at work, over other bytes; `copied from many`: of certificates this process has not seen yet.
 */
export async function signaturesOf(kind: HeldKind, fleet: BenchFleet): Promise<string[]> {
  const copied = (from: number, to: number) =>
    fleet.devices(from, to).map((device) => signatureOf(device, OTHER_BYTES));
  switch (kind) {
    case 'garbage':
      return [randomBytes(1_400).toString('base64')];
    case 'foreign': {
      const [stranger] = new BenchFleet(await createFleetSeed()).devices(0, 1);
      return stranger === undefined ? [] : [signatureOf(stranger, OTHER_BYTES)];
    }
    case 'copied':
      return copied(0, 1);
    case 'copied from many':
      return copied(10_000, 10_000 + MANY);
  }
}
