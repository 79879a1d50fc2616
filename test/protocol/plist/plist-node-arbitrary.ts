import fc from 'fast-check';
import {
  hasIllegalCharacter,
  type PlistNode,
  type PlistNodeDict,
} from '../../../src/protocol/plist/plist.js';

/** Any text that XML can hold. */
export const plistText: fc.Arbitrary<string> = fc
  .oneof(
    fc.string({ unit: 'binary', maxLength: 20 }),
    fc.string({ unit: 'grapheme', maxLength: 20 }),
    fc.constantFrom(
      '',
      ' ',
      '\n',
      '\r\n',
      '\t',
      ']]>',
      '<key>',
      '&amp;',
      '0',
      '10',
      '2',
      '__proto__',
    ),
  )
  .filter((text) => !hasIllegalCharacter(text));

const date = fc
  .date({ min: new Date('0001-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59Z') })
  .filter((value) => !Number.isNaN(value.getTime()))
  .map((value) => new Date(Math.floor(value.getTime() / 1000) * 1000));

const leaf: fc.Arbitrary<PlistNode> = fc.oneof(
  plistText,
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }),
  fc.integer().map(BigInt),
  fc.double(),
  fc.integer().map(Number),
  fc.boolean(),
  date,
  fc.uint8Array({ maxLength: 80 }).map((bytes) => Buffer.from(bytes)),
);

const { node } = fc.letrec<{ node: PlistNode; dict: PlistNodeDict }>((tie) => ({
  node: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    leaf,
    fc.array(tie('node'), { maxLength: 5 }),
    tie('dict'),
  ),
  dict: entries(tie('node')),
}));

function entries(value: fc.Arbitrary<PlistNode>): fc.Arbitrary<PlistNodeDict> {
  return fc
    .uniqueArray(fc.tuple(plistText, value), { selector: ([key]) => key, maxLength: 6 })
    .map((pairs) => new Map(pairs));
}

/** Any property list. */
export const plistNode = node;

/** Any dictionary. */
export const plistNodeDict = entries(node);

/** Maps as lists of their entries, since Jest compares Maps without regard to their order. */
export function ordered(value: PlistNode): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (!(value instanceof Map)) return value;
  return { dict: [...value].map(([key, member]) => [key, ordered(member)]) };
}
