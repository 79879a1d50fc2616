import { AppError } from '../../../src/errors.js';
import { parsePlist, parsePlistDict } from '../../../src/protocol/plist/plist.js';
import { BinaryPlist, binaryPlist, head, refs } from './binary-plist.js';
import { fixture } from './plist-fixtures.js';

function failure(bytes: Buffer, limits = {}): AppError {
  try {
    parsePlist(bytes, limits);
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error('it was accepted');
}

/** A document of one object made of these bytes. */
function single(...parts: (number | Buffer)[]): Buffer {
  const document = new BinaryPlist();
  return document.bytes(document.add(...parts));
}

describe('hostile binary property lists', () => {
  it.each<[string, Buffer]>([
    ['a header alone', Buffer.from('bplist00')],
    ['another version', Buffer.from('bplist15aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa')],
    ['a trailer of zeros', Buffer.concat([Buffer.from('bplist00'), Buffer.alloc(60)])],
    ['a trailer of ones', Buffer.concat([Buffer.from('bplist00'), Buffer.alloc(60, 0xff)])],
    ['null', single(0x00)],
    ['a fill byte', single(0x0f)],
    ['a UID', single(0x80, 1)],
    ['a set', single(0xc0)],
    ['an ordered set', single(0xb0)],
    ['an unknown type', single(0x70)],
    ['an integer of 32 bytes', single(0x15, Buffer.alloc(32))],
    ['an integer beyond 64 bits', single(0x14, Buffer.alloc(16, 0x7f))],
    ['an integer cut short', single(0x13, 1)],
    ['a real of two bytes', single(0x21, 1, 1)],
    ['a date of four bytes', single(0x32, 1, 1, 1, 1)],
    ['a date that is no number', single(0x33, Buffer.from('7ff8000000000000', 'hex'))],
    ['a date beyond the years we write', single(0x33, Buffer.from('7e37e43c8800759c', 'hex'))],
    ['data longer than the file', single(head(4, 1000))],
    ['a length that is no integer', single(0x4f, 0x53)],
    ['a length of 16 bytes', single(0x4f, 0x14, Buffer.alloc(16))],
    ['a length beyond all files', single(0x5f, 0x13, Buffer.alloc(8, 0xff))],
    ['a huge array', single(0xaf, 0x12, Buffer.alloc(4, 0xff))],
    ['text with a byte above ASCII', single(0x51, 0xe9)],
    ['text with NUL', single(0x51, 0)],
    ['half a surrogate pair', single(0x61, 0xd8, 0x3d)],
    ['a reference to nothing', single(0xa1, 0, 9)],
  ])('refuses %s', (_what, bytes) => {
    expect(failure(bytes)).toMatchObject({ code: 'invalid_plist', status: 400 });
  });

  it.each<[string, { [field: string]: number }]>([
    ['a top object that is not there', { top: 1 }],
    ['offsets of no size', { offsetSize: 0 }],
    ['offsets of nine bytes', { offsetSize: 9 }],
    ['references of no size', { refSize: 0 }],
    ['more objects than the table holds', { count: 2 }],
    ['a billion objects', { count: 1_000_000_000 }],
    ['no objects', { count: 0 }],
    ['an offset table within the header', { table: 0 }],
    ['an offset table beyond the end', { table: 1_000_000 }],
    ['an offset table beyond all files', { table: 2 ** 50 }],
  ])('refuses a trailer with %s', (_what, trailer) => {
    const document = new BinaryPlist();
    expect(failure(document.bytes(document.value('a'), trailer)).code).toBe('invalid_plist');
  });

  it('refuses a key that is no string', () => {
    const document = new BinaryPlist();
    const number = document.value(1);
    const dict = document.add(head(0xd, 1), refs([number, number]));
    expect(failure(document.bytes(dict)).message).toContain('key that is no string');
  });

  it('ends at once in an array that holds itself', () => {
    const document = new BinaryPlist();
    document.array([0]);
    expect(failure(document.bytes(0)).message).toContain('nested too deep');
    const wide = new BinaryPlist();
    wide.array([0, 0, 0, 0, 0, 0, 0, 0]);
    const started = performance.now();
    expect(failure(wide.bytes(0)).code).toBe('invalid_plist');
    expect(performance.now() - started).toBeLessThan(1000);
  });

  it('counts an object as often as it is referred to', () => {
    const document = new BinaryPlist();
    let level = document.value('ha');
    for (let depth = 0; depth < 30; depth++) level = document.array([level, level, level, level]);
    expect(failure(document.bytes(level)).message).toContain('too many values');
  });

  it('counts the size of text and data as often as it is referred to', () => {
    const document = new BinaryPlist();
    const megabyte = document.value(Buffer.alloc(1_000_000));
    const bytes = document.bytes(document.array(new Array<number>(30).fill(megabyte)));
    expect(failure(bytes).message).toContain('too large');
    expect(parsePlist(bytes, { maxBytes: 30_000_000 })).toHaveLength(30);
  });

  it('is read or refused with an AppError, whatever a byte is changed to', () => {
    const bytes = binaryPlist(parsePlist(fixture('response/SecurityInfo.ios-11.3.1.plist')));
    for (let at = 0; at < bytes.length; at++) {
      for (const byte of [0x00, 0x01, 0x0f, 0x14, 0x5f, 0x6f, 0xaf, 0xdf, 0xff]) {
        const changed = Buffer.from(bytes);
        changed[at] = byte;
        try {
          parsePlist(changed);
        } catch (error) {
          expect(error).toBeInstanceOf(AppError);
        }
      }
    }
  });
});

describe('reading binary property lists', () => {
  it('reads every kind of value', () => {
    const value = {
      text: 'plain',
      wide: 'ü \u{1F600}',
      long: 'x'.repeat(300),
      numbers: [0, 255, 256, 70_000, 5_000_000_000, -1, -5_000_000_000, 1.5],
      large: [9007199254740993n, -9223372036854775808n, 18446744073709551615n],
      data: Buffer.from([0, 255]),
      date: new Date('2016-11-03T03:12:26Z'),
      flags: [true, false],
      nested: { empty: {}, none: [] },
    };
    expect(parsePlist(binaryPlist(value))).toEqual(value);
  });

  it('reads a real of four bytes', () => {
    expect(parsePlist(single(0x22, Buffer.from('3fc00000', 'hex')))).toBe(1.5);
  });

  it('makes a key named __proto__ its own', () => {
    const document = new BinaryPlist();
    const key = document.value('__proto__');
    const dict = document.add(head(0xd, 1), refs([key, document.value({ bad: true })]));
    expect(Object.keys(parsePlistDict(document.bytes(dict)))).toEqual(['__proto__']);
  });
});
