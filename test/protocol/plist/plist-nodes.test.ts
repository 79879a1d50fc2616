import fc from 'fast-check';
import {
  buildPlistNodes,
  nodeToValue,
  type PlistNode,
  parsePlist,
  parsePlistNodes,
} from '../../../src/protocol/plist/plist.js';
import { BinaryPlist, head, refs } from './binary-plist.js';
import { document, fixture, plistFixtures } from './plist-fixtures.js';
import { ordered, plistNode } from './plist-node-arbitrary.js';

function real(value: number): Buffer {
  const bytes = Buffer.alloc(9, 0x23);
  bytes.writeDoubleBE(value, 1);
  return bytes;
}

/** The same property list in binary. */
function binary(node: PlistNode): Buffer {
  const plist = new BinaryPlist();
  const add = (value: PlistNode): number => {
    if (typeof value === 'number') return plist.add(real(value));
    if (Array.isArray(value)) return plist.array(value.map(add));
    if (!(value instanceof Map)) return plist.value(value);
    const keys = [...value.keys()].map(add);
    const values = [...value.values()].map(add);
    return plist.add(head(0xd, keys.length), refs([...keys, ...values]));
  };
  return plist.bytes(add(node));
}

function twice(node: PlistNode): unknown {
  return ordered(parsePlistNodes(buildPlistNodes(node)));
}

describe('property lists read without loss', () => {
  it('refuse two equal keys in one dictionary', () => {
    const xml = document('<dict><key>a</key><true/><key>b</key><true/><key>a</key><true/></dict>');
    expect(() => parsePlistNodes(xml)).toThrow("the key 'a' twice in one dictionary");
    expect(parsePlist(xml)).toEqual({ a: true, b: true });
    const plist = new BinaryPlist();
    const [key, value] = [plist.value('a'), plist.value(true)];
    const bytes = plist.bytes(plist.add(head(0xd, 2), refs([key, key, value, value])));
    expect(() => parsePlistNodes(bytes)).toThrow("the key 'a' twice in one dictionary");
  });

  it.each([
    ['a cut-off document', Buffer.from('<plist><dict>')],
    ['a key without a value', document('<dict><key>a</key></dict>')],
    ['a value without a key', document('<dict><true/></dict>')],
    ['a key in an array', document('<array><key>a</key></array>')],
    ['a key outside of everything', document('<key>a</key>')],
    ['a wrong end tag', document('<dict></array>')],
    ['an integer beyond 64 bits', document('<integer>18446744073709551616</integer>')],
    ['an empty document', Buffer.alloc(0)],
    ['a binary one without a trailer', Buffer.from('bplist00')],
  ])('refuse %s', (_what, bytes) => {
    expect(() => parsePlistNodes(bytes)).toThrow('Not a valid property list');
  });

  it('enforce the limits', () => {
    const deep = document('<array>'.repeat(3) + '</array>'.repeat(3));
    expect(() => parsePlistNodes(deep, { maxDepth: 2 })).toThrow('nested too deep');
    expect(() => parsePlistNodes(deep, { maxNodes: 2 })).toThrow('too many values');
    expect(() => parsePlistNodes(deep, { maxBytes: 20 })).toThrow('too large');
  });

  it.each<[string, PlistNode, string]>([
    ['an integer', 64n, '<integer>64</integer>'],
    ['a whole real', 64, '<real>64</real>'],
    ['a negative zero', -0, '<real>-0</real>'],
    ['the largest integer', 2n ** 64n - 1n, '<integer>18446744073709551615</integer>'],
    ['the smallest integer', -(2n ** 63n), '<integer>-9223372036854775808</integer>'],
    ['infinity', Number.POSITIVE_INFINITY, '<real>+infinity</real>'],
    ['no number', Number.NaN, '<real>nan</real>'],
    ['an empty dictionary', new Map(), '<dict/>'],
    ['an empty array', [], '<array/>'],
    ['no data', Buffer.alloc(0), '<data></data>'],
    ['line ends', 'a\r\nb', '<string>a&#13;\nb</string>'],
  ])('distinguish %s', (_what, node, markup) => {
    expect(buildPlistNodes(node).toString()).toContain(`${markup}\n`);
    expect(parsePlistNodes(document(markup))).toEqual(node);
    expect(parsePlistNodes(binary(node))).toEqual(node);
  });

  it('keep the order of keys, also of those that look like numbers', () => {
    const keys = ['b', '10', '9', 'a', '-1', '__proto__', 'constructor', ''];
    const node = new Map(keys.map((key, index) => [key, BigInt(index)]));
    for (const bytes of [buildPlistNodes(node), binary(node)]) {
      expect([...(parsePlistNodes(bytes) as Map<string, PlistNode>)]).toEqual([...node]);
    }
  });

  it('have dates in whole seconds, as the XML form holds them', () => {
    const parts = (time: string) => parsePlistNodes(document(`<date>${time}</date>`));
    expect(parts('2026-03-26T23:42:09.987Z')).toEqual(new Date('2026-03-26T23:42:09Z'));
    expect(parsePlistNodes(binary(new Date('2026-03-26T23:42:09.987Z')))).toEqual(
      new Date('2026-03-26T23:42:09Z'),
    );
    expect(parsePlistNodes(binary(new Date(-500)))).toEqual(new Date(-1000));
  });

  it('are equal after writing and reading, in XML and in binary', () => {
    fc.assert(
      fc.property(plistNode, (node) => {
        expect(twice(node)).toEqual(ordered(node));
        expect(ordered(parsePlistNodes(binary(node)))).toEqual(ordered(node));
      }),
      { numRuns: 1000 },
    );
  });

  it('agree with parsePlist', () => {
    fc.assert(
      fc.property(plistNode, (node) => {
        expect(nodeToValue(node)).toEqual(parsePlist(binary(node)));
      }),
      { numRuns: 300 },
    );
    const files = plistFixtures(['checkin', 'response', 'command', 'enroll']);
    for (const path of files.filter((name) => !name.includes('bad-base64'))) {
      const bytes = fixture(path);
      const nodes = parsePlistNodes(bytes);
      expect(nodeToValue(nodes)).toEqual(parsePlist(bytes));
      expect(twice(nodes)).toEqual(ordered(nodes));
    }
  });
});
