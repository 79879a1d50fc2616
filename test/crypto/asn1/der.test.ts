import {
  bitString,
  booleanValue,
  contextTag,
  derBitString,
  derBoolean,
  derContext,
  derInteger,
  derNull,
  derOctetString,
  derOid,
  derSequence,
  derSet,
  derTime,
  derUnsigned,
  derUtf8String,
  integerOctets,
  readBer,
  readDer,
  smallInteger,
  stringValue,
  Tag,
  timeValue,
  wholeOctets,
} from '../../../src/crypto/asn1/der.js';
import { codeOf } from '../identities.js';

const hex = (text: string): Buffer => Buffer.from(text.replace(/ /g, ''), 'hex');

function longForm(tag: number, content: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(content.length);
  return Buffer.concat([Buffer.from([tag, 0x84]), length, content]);
}

describe('readDer', () => {
  it.each([
    ['nothing', ''],
    ['a tag alone', '30'],
    ['content shorter than the length', '04 03 01 02'],
    ['a length field that is cut off', '04 82 01'],
    ['trailing bytes', '05 00 00'],
    ['a length not in its shortest form', '04 81 01 00'],
    ['a padded long length', '04 82 00 80'],
    ['a length of five octets', '04 85 00 00 00 00 01'],
    ['the reserved length', '04 ff'],
    ['an indefinite length', '30 80 00 00'],
    ['an end-of-contents tag', '00 00'],
    ['a tag number above 30', '1f 81 01 00'],
  ])('refuses %s', (_what, text) => {
    expect(codeOf(() => readDer(hex(text)))).toBe('invalid_asn1');
  });

  it('refuses a member that reaches beyond its sequence', () => {
    const members = readDer(hex('30 03 04 02 01')).children();
    expect(codeOf(() => members.next())).toBe('invalid_asn1');
  });

  it('refuses an unexpected tag, and members left over', () => {
    const members = readDer(derSequence(derInteger(1), derNull())).children();
    expect(codeOf(() => members.next(Tag.octetString))).toBe('invalid_asn1');
    members.next(Tag.integer);
    expect(codeOf(() => members.finish())).toBe('invalid_asn1');
    members.next(Tag.null);
    members.finish();
    expect(members.tag).toBe(-1);
    expect(codeOf(() => members.next())).toBe('invalid_asn1');
  });

  it('refuses members of a primitive element and segmented strings', () => {
    expect(codeOf(() => readDer(derNull()).children())).toBe('invalid_asn1');
    const segmented = readDer(hex('24 05 04 03 01 02 03'));
    expect(codeOf(() => segmented.octets())).toBe('invalid_asn1');
  });

  it('reads 32 levels and refuses 33', () => {
    let bytes = derNull();
    for (let level = 0; level < 40; level += 1) bytes = derSequence(bytes);
    const descend = (levels: number): void => {
      let element = readDer(bytes);
      for (let level = 0; level < levels; level += 1) element = element.children().next();
    };
    expect(codeOf(() => descend(32))).toBeUndefined();
    expect(codeOf(() => descend(33))).toBe('invalid_asn1');
  });

  it('returns views on the input, not copies', () => {
    const bytes = derSequence(derOctetString(Buffer.from('abc')));
    const member = readDer(bytes).children().next();
    expect(member.content.buffer).toBe(bytes.buffer);
    expect(member.raw).toEqual(hex('04 03 61 62 63'));
  });
});

describe('readBer', () => {
  it.each([
    ['an indefinite length that never ends', '30 80 04 01 00'],
    ['half an end-of-contents', '30 80 00'],
    ['an indefinite length on a primitive', '04 80 00 00'],
    ['a segment of another type', '24 80 0c 01 61 00 00'],
  ])('refuses %s', (_what, text) => {
    expect(codeOf(() => readBer(hex(text)).octets())).toBe('invalid_asn1');
  });

  it('refuses indefinite lengths nested too deeply', () => {
    const bytes = Buffer.from('3080'.repeat(100_000), 'hex');
    expect(codeOf(() => readBer(bytes))).toBe('invalid_asn1');
  });

  it('refuses more elements than any message has', () => {
    const bytes = Buffer.concat([hex('30 80'), Buffer.from('0500'.repeat(300_000), 'hex')]);
    expect(codeOf(() => readBer(Buffer.concat([bytes, hex('00 00')])))).toBe('invalid_asn1');
  });

  it.each([
    ['definite', (segments: Buffer) => longForm(0x24, segments)],
    ['indefinite', (segments: Buffer) => Buffer.concat([hex('24 80'), segments, hex('00 00')])],
  ])('joins 65,536 segments of %s length and no more', (_what, cut) => {
    const segments = (count: number) => cut(Buffer.from('040161'.repeat(count), 'hex'));
    expect(readBer(segments(65_536)).octets()).toHaveLength(65_536);
    expect(() => readBer(segments(65_537)).octets()).toThrow('too many segments');
  });

  it('counts the segments of all strings of a message, also those within segments', () => {
    const half = longForm(0x24, Buffer.from('040161'.repeat(40_000), 'hex'));
    const cursor = readBer(derSequence(half, half)).children();
    expect(cursor.octetString()).toHaveLength(40_000);
    expect(codeOf(() => cursor.octetString())).toBe('invalid_asn1');
    const nested = longForm(0x24, Buffer.concat([half, half]));
    expect(codeOf(() => readBer(nested).octets())).toBe('invalid_asn1');
  });

  it('reads indefinite lengths within each other', () => {
    const members = readBer(hex('30 80 31 80 02 01 05 00 00 05 00 00 00')).children();
    expect(smallInteger(members.set().next())).toBe(5);
    expect(members.next().tag).toBe(Tag.null);
    members.finish();
  });

  it('joins the segments of an octet string, definite and indefinite', () => {
    const text = '24 80 04 02 61 62 24 06 04 01 63 04 01 64 04 00 00 00';
    expect(readBer(hex(text)).octets().toString()).toBe('abcd');
  });

  it('accepts longer lengths than needed', () => {
    expect(readBer(hex('04 82 00 01 2a')).content).toEqual(hex('2a'));
  });
});

describe('values', () => {
  it.each([
    ['an empty integer', '02 00'],
    ['a padded positive integer', '02 02 00 7f'],
    ['a padded negative integer', '02 02 ff 80'],
    ['another type', '04 01 01'],
  ])('refuses %s', (_what, text) => {
    expect(codeOf(() => integerOctets(readDer(hex(text))))).toBe('invalid_asn1');
  });

  it('refuses negative and large integers where a small one is expected', () => {
    expect(codeOf(() => smallInteger(readDer(hex('02 01 ff'))))).toBe('invalid_asn1');
    expect(codeOf(() => smallInteger(readDer(hex('02 05 01 00 00 00 00'))))).toBe('invalid_asn1');
  });

  it('reads and writes integers', () => {
    for (const value of [0, 1, 127, 128, 255, 256, 65_535, 2 ** 31 - 1]) {
      expect(smallInteger(readDer(derInteger(value)))).toBe(value);
    }
    expect(derInteger(128)).toEqual(hex('02 02 00 80'));
    expect(derUnsigned(hex('00 00 80 01'))).toEqual(hex('02 03 00 80 01'));
    expect(derUnsigned(Buffer.alloc(0))).toEqual(hex('02 01 00'));
  });

  it('accepts only 00 and ff as a boolean', () => {
    expect(codeOf(() => booleanValue(readDer(hex('01 01 01'))))).toBe('invalid_asn1');
    expect(codeOf(() => booleanValue(readDer(hex('01 00'))))).toBe('invalid_asn1');
    expect(booleanValue(readDer(derBoolean(true)))).toBe(true);
    expect(booleanValue(readDer(derBoolean(false)))).toBe(false);
  });

  it.each(['03 00', '03 01 01', '03 02 08 00'])('refuses the bit string %s', (text) => {
    expect(codeOf(() => bitString(readDer(hex(text))))).toBe('invalid_asn1');
  });

  it('reads bit strings', () => {
    expect(bitString(readDer(hex('03 02 05 a0')))).toEqual({ octets: hex('a0'), unusedBits: 5 });
    expect(wholeOctets(readDer(derBitString(hex('0102'))))).toEqual(hex('0102'));
    expect(codeOf(() => wholeOctets(readDer(hex('03 02 05 a0'))))).toBe('invalid_asn1');
  });

  it('reads each string type', () => {
    expect(stringValue(readDer(derUtf8String('Müller 🍏')))).toBe('Müller 🍏');
    expect(stringValue(readDer(hex('14 02 fc 61')))).toBe('üa');
    expect(stringValue(readDer(hex('1e 04 00 fc 20 ac')))).toBe('ü€');
    expect(stringValue(readDer(hex('1c 04 00 01 f3 4f')))).toBe('🍏');
    expect(stringValue(readDer(hex('13 01 61')))).toBe('a');
    expect(stringValue(readDer(hex('04 01 61')))).toBeUndefined();
  });

  it.each([
    ['UTF-8', '0c 01 ff'],
    ['length', '1e 03 00 61 00'],
    ['character', '1c 04 00 11 00 00'],
  ])('refuses a string with a bad %s', (_what, text) => {
    expect(codeOf(() => stringValue(readDer(hex(text))))).toBe('invalid_asn1');
  });

  it.each([
    [Tag.utcTime, '261321000000Z'],
    [Tag.utcTime, '260230000000Z'],
    [Tag.utcTime, '261121240000Z'],
    [Tag.utcTime, '261121000060Z'],
    [Tag.utcTime, '2611210000Z'],
    [Tag.utcTime, '261121000000+0100'],
    [Tag.utcTime, '20261121000000Z'],
    [Tag.generalizedTime, '20261121000000.5Z'],
    [Tag.utf8String, '261121000000Z'],
  ])('refuses the time %i %s', (tag, text) => {
    const bytes = Buffer.concat([Buffer.from([tag, text.length]), Buffer.from(text)]);
    expect(codeOf(() => timeValue(readDer(bytes)))).toBe('invalid_asn1');
  });

  it('reads and writes times in both types', () => {
    for (const text of ['1950-01-01T00:00:00Z', '2026-11-21T07:54:34Z', '2049-12-31T23:59:59Z']) {
      expect(derTime(new Date(text))[0]).toBe(Tag.utcTime);
      expect(timeValue(readDer(derTime(new Date(text))))).toEqual(new Date(text));
    }
    for (const text of ['1949-12-31T23:59:59Z', '2050-01-01T00:00:00Z', '9999-12-31T23:59:59Z']) {
      expect(derTime(new Date(text))[0]).toBe(Tag.generalizedTime);
      expect(timeValue(readDer(derTime(new Date(text))))).toEqual(new Date(text));
    }
    expect(derTime(new Date('2026-11-21T07:54:34.999Z')).toString('latin1', 2)).toBe(
      '261121075434Z',
    );
  });
});

describe('writer', () => {
  it.each([
    [0x7f, '04 7f'],
    [0x80, '04 81 80'],
    [0xff, '04 81 ff'],
    [0x100, '04 82 01 00'],
    [0x10000, '04 83 01 00 00'],
  ])('writes the length %i in its shortest form', (length, header) => {
    const bytes = derOctetString(Buffer.alloc(length));
    expect(bytes.subarray(0, bytes.length - length)).toEqual(hex(header));
    expect(readDer(bytes).content.length).toBe(length);
  });

  it('sorts the members of a set by their encoding', () => {
    expect(derSet(derInteger(300), derInteger(2), derInteger(1))).toEqual(
      hex('31 0a 02 01 01 02 01 02 02 02 01 2c'),
    );
  });

  it('writes explicit tags and object identifiers', () => {
    const bytes = derContext(3, derOid('1.2.840.113549.1.7.1'));
    expect(bytes).toEqual(hex('a3 0b 06 09 2a 86 48 86 f7 0d 01 07 01'));
    expect(readDer(bytes).tag).toBe(contextTag(3));
    expect(readDer(bytes).children().oid()).toBe('1.2.840.113549.1.7.1');
  });
});
