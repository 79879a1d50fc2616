import { parseBuffer } from 'bplist-parser';
import oracle from 'plist';
import {
  buildPlist,
  type PlistDict,
  type PlistValue,
  parsePlist,
} from '../../../src/protocol/plist/plist.js';
import { binaryPlist } from './binary-plist.js';
import { fixture, plistFixtures } from './plist-fixtures.js';

const FIXTURES = plistFixtures(['checkin', 'response', 'command', 'enroll']).filter(
  (path) => !path.includes('bad-base64'),
);

/** Repeatable random numbers (mulberry32), so that a failure can be run again. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

const LETTERS = ['a', 'Z', '9', ' ', '\n', '\t', '&', '<', '>', '"', "'", 'é', '漢', '\u{1F600}'];

function text(pick: (below: number) => number): string {
  return Array.from({ length: pick(12) + 1 }, () => LETTERS[pick(LETTERS.length)]).join('');
}

function value(pick: (below: number) => number, depth: number): PlistValue {
  switch (pick(depth > 4 ? 6 : 8)) {
    case 0:
      return `x${text(pick)}x`;
    case 1:
      return pick(2) === 0 ? pick(1000) : pick(2 ** 31);
    case 2:
      return pick(1000) / 8 + 0.0625;
    case 3:
      return pick(2) === 0;
    case 4:
      return new Date(pick(4_000_000_000) * 1000);
    case 5:
      return Buffer.from(text(pick));
    case 6:
      return Array.from({ length: pick(5) }, () => value(pick, depth + 1));
    default: {
      const dict: PlistDict = {};
      for (let count = pick(6); count > 0; count--) dict[`k${text(pick)}`] = value(pick, depth + 1);
      return dict;
    }
  }
}

describe('against other readers and writers', () => {
  it.each(FIXTURES)('reads %s as the plist package does', (path) => {
    const bytes = fixture(path);
    expect(parsePlist(bytes)).toEqual(oracle.parse(bytes.toString('utf8')));
  });

  it('writes made values so that the plist package reads them, and reads what it writes', () => {
    for (let seed = 1; seed <= 200; seed++) {
      const made = { value: value(random(seed), 0) };
      expect(oracle.parse(buildPlist(made).toString('utf8'))).toEqual(made);
      expect(parsePlist(Buffer.from(oracle.build(made as unknown as oracle.PlistValue)))).toEqual(
        made,
      );
    }
  });

  it('reads made binary documents as bplist-parser does', () => {
    for (let seed = 1; seed <= 200; seed++) {
      const made = { value: value(random(seed), 0) };
      const bytes = binaryPlist(made);
      expect(parsePlist(bytes)).toEqual(made);
      expect(parseBuffer(bytes)).toEqual([made]);
    }
  });
});
