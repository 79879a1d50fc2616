import { readDer } from '../../../src/crypto/asn1/der.js';
import { Oid } from '../../../src/crypto/asn1/oids.js';
import { encodeName, parseName } from '../../../src/crypto/x509/names.js';
import { codeOf } from '../identities.js';

const read = (hex: string) => parseName(readDer(Buffer.from(hex, 'hex')));
const text = (type: string, value: string): string =>
  parseName(readDer(encodeName([{ type, value }]))).text;

describe('names', () => {
  it.each([
    ['an empty relative name', '30023100'],
    ['an attribute without value', '30093107300506035504 03'.replace(' ', '')],
    ['an attribute with two values', '300d310b300906035504030c000c00'],
    ['something else than sets', '30020500'],
  ])('refuses %s', (_what, hex) => {
    expect(codeOf(() => read(hex))).toBe('invalid_asn1');
  });

  it('refuses an unknown short name', () => {
    expect(codeOf(() => encodeName([{ type: 'XX', value: 'x' }]))).toBe('invalid_asn1');
  });

  it('prints the empty name as the empty string', () => {
    expect(read('3000')).toEqual({ text: '', values: new Map(), repeated: [] });
    expect(encodeName([]).toString('hex')).toBe('3000');
  });

  it('prints the most specific part first, by RFC 4514', () => {
    const name = encodeName([
      { type: 'C', value: 'CH' },
      { type: 'O', value: 'Example AG' },
      { type: 'CN', value: 'iPad' },
    ]);
    const parsed = parseName(readDer(name));
    expect(parsed.text).toBe('CN=iPad,O=Example AG,C=CH');
    expect(parsed.values.get(Oid.organization)).toBe('Example AG');
  });

  it('keeps the first of several values of one type', () => {
    const name = encodeName([
      { type: 'CN', value: 'first' },
      { type: 'CN', value: 'second' },
    ]);
    expect(parseName(readDer(name)).values.get(Oid.commonName)).toBe('first');
  });

  it('joins the attributes of one relative name with a plus sign', () => {
    const hex = `3018${'3116'}300906035504030c0261623009060355040a0c026364`;
    expect(read(hex).text).toBe('CN=ab+O=cd');
  });

  it.each([
    ['a,b', 'CN=a\\,b'],
    ['a+b"c\\d;e<f>', 'CN=a\\+b\\"c\\\\d\\;e\\<f\\>'],
    [' a ', 'CN=\\ a\\ '],
    [' ', 'CN=\\ '],
    ['#a', 'CN=\\#a'],
    ['a\0b', 'CN=a\\00b'],
    ['Zoë', 'CN=Zoë'],
    ['', 'CN='],
  ])('escapes "%s"', (value, expected) => {
    expect(text('CN', value)).toBe(expected);
  });

  it('prints unknown types by number and unknown values as hex', () => {
    expect(text('1.2.3.4', 'x')).toBe('1.2.3.4=x');
    expect(read('300e310c300a060355040304030102 03'.replace(' ', '')).text).toBe('CN=#0403010203');
  });

  it('writes country as PrintableString, domain components as IA5String, others as UTF-8', () => {
    const name = encodeName([
      { type: 'C', value: 'US' },
      { type: 'DC', value: 'com' },
      { type: 'CN', value: 'a' },
    ]);
    const tags = [...name.toString('hex').matchAll(/(13025553|1603636f6d|0c0161)/g)];
    expect(tags.map(([found]) => found)).toEqual(['13025553', '1603636f6d', '0c0161']);
  });
});
