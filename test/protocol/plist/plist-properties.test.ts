import fc from 'fast-check';
import oracle from 'plist';
import { hasIllegalCharacter, parsePlist } from '../../../src/protocol/plist/plist.js';
import { document } from './plist-fixtures.js';

/** A piece of text as it may be written, and what XML 1.0 says that it stands for. */
type Piece = readonly [written: string, meant: string];

const plain: fc.Arbitrary<Piece> = fc
  .string({ unit: 'grapheme', maxLength: 8 })
  .filter((text) => !hasIllegalCharacter(text) && !/[&<>\r\]]/.test(text))
  .map((text) => [text, text]);

const reference: fc.Arbitrary<Piece> = fc
  .tuple(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }), fc.nat(3))
  .filter(([text]) => !hasIllegalCharacter(text))
  .map(([text, form]) => [[...text].map((one) => referenceTo(one, form)).join(''), text]);

const named: fc.Arbitrary<Piece> = fc.constantFrom<Piece>(
  ['&amp;', '&'],
  ['&lt;', '<'],
  ['&gt;', '>'],
  ['&quot;', '"'],
  ['&apos;', "'"],
);

/** A letter between two line ends, since \r and \n side by side are one. */
const lineEnd: fc.Arbitrary<Piece> = fc
  .constantFrom('\r\n', '\r', '\n')
  .map((written) => [`${written}x`, '\nx']);

const special: fc.Arbitrary<Piece> = fc.constantFrom<Piece>(
  ['<![CDATA[a & <b>]]>', 'a & <b>'],
  ['<![CDATA[&amp;\r\n]]>', '&amp;\n'],
  ['<!-- & <key> -->', ''],
);

function referenceTo(character: string, form: number): string {
  const code = character.codePointAt(0) ?? 0;
  if (form === 0) return `&#${code};`;
  const hex = code.toString(16);
  return `&#x${form === 1 ? hex : hex.toUpperCase()};`;
}

function joined(pieces: readonly Piece[]): Piece {
  return [pieces.map(([written]) => written).join(''), pieces.map(([, meant]) => meant).join('')];
}

const text = fc
  .array(fc.oneof(plain, reference, named, lineEnd, special), { maxLength: 12 })
  .map(joined);
/** Less what the plist package reads as a line end of XML 1.1, or warns of on the console. */
const ordinaryText = fc
  .array(fc.oneof(plain, named), { minLength: 1, maxLength: 12 })
  .map(joined)
  .filter(([, meant]) => meant.trim() !== '' && !/[\u0085\u2028\u2029\ufffd]/.test(meant));

/** Base64 as RFC 4648 has it, with white space anywhere. */
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const base64 = fc.oneof(
  fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes).toString('base64')),
  fc.string({ unit: fc.constantFrom(...'AZaz09+/=-_* \n'), maxLength: 16 }),
);

describe('the reader of XML property lists', () => {
  it('reads references, line ends, CDATA sections and comments by XML 1.0', () => {
    fc.assert(
      fc.property(text, text, ([key, keyMeant], [value, valueMeant]) => {
        const markup = `<dict><key>${key}</key>\r\n<string>${value}</string></dict>`;
        expect(parsePlist(document(markup))).toEqual({ [keyMeant]: valueMeant });
      }),
      { numRuns: 2_000 },
    );
  });

  it('agrees with the plist package on ordinary text', () => {
    fc.assert(
      fc.property(ordinaryText, ordinaryText, ([key], [value]) => {
        const bytes = document(`<dict><key>${key}</key><string>${value}</string></dict>`);
        expect(parsePlist(bytes)).toEqual(oracle.parse(bytes.toString('utf8')));
      }),
      { numRuns: 500 },
    );
  });

  it('reads data that is base64 with white space in it, and refuses all other', () => {
    fc.assert(
      fc.property(base64, fc.nat(40), (digits, at) => {
        const written = `${digits.slice(0, at)}\r\n\t${digits.slice(at)}`;
        const packed = written.replace(/[\t\r\n ]/g, '');
        const bytes = document(`<data>${written}</data>`);
        if (BASE64.test(packed)) expect(parsePlist(bytes)).toEqual(Buffer.from(packed, 'base64'));
        else expect(() => parsePlist(bytes)).toThrow('bad base64 data');
      }),
      { numRuns: 2_000 },
    );
  });
});
