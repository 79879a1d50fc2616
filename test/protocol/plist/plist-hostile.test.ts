import { AppError } from '../../../src/errors.js';
import { parsePlist } from '../../../src/protocol/plist/plist.js';
import { document, fixture } from './plist-fixtures.js';

function failure(bytes: Buffer, limits = {}): AppError {
  try {
    parsePlist(bytes, limits);
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error('it was accepted');
}

const WITHOUT_WRAPPER: [string, string][] = [
  ['nothing', ''],
  ['white space', ' \n'],
  ['something else', 'hello'],
  ['JSON', '{"MessageType": "Authenticate"}'],
  ['no plist element', '<dict/>'],
  ['another root element', '<html><string>a</string></html>'],
  ['a plist without end', '<plist><dict/>'],
  ['an empty plist element', '<plist/>'],
  ['text after the end', '<plist><dict/></plist>x'],
  ['a second document', '<plist><dict/></plist><plist><dict/></plist>'],
  ['a declaration after white space', ' <?xml version="1.0"?><plist><true/></plist>'],
  ['another encoding', '<?xml version="1.0" encoding="UTF-16"?><plist><true/></plist>'],
  [
    'an external entity',
    '<!DOCTYPE plist [<!ENTITY x SYSTEM "file:///etc/passwd">]><plist><string>&x;</string></plist>',
  ],
  ['an empty internal subset', '<!DOCTYPE plist []><plist><true/></plist>'],
  ['a DOCTYPE of something else', '<!DOCTYPE html><plist><true/></plist>'],
  ['an unclosed comment', '<!-- <plist><true/></plist>'],
  ['a processing instruction', '<plist><?php x ?><true/></plist>'],
];

const INSIDE: [string, string][] = [
  ['no value', ''],
  ['two values', '<true/><true/>'],
  ['a key on top', '<key>a</key>'],
  ['a key without a value', '<dict><key>a</key></dict>'],
  ['two keys in a row', '<dict><key>a</key><key>b</key><true/></dict>'],
  ['a value without a key', '<dict><true/></dict>'],
  ['a key in an array', '<array><key>a</key></array>'],
  ['text between elements', '<array>x<true/></array>'],
  ['CDATA between elements', '<array><![CDATA[x]]></array>'],
  ['an unclosed dictionary', '<dict><key>a</key><true/>'],
  ['crossed tags', '<dict><key>a</key><array></dict></array>'],
  ['an end tag too many', '<dict/></dict>'],
  ['a mismatched scalar', '<string>a</integer>'],
  ['an end tag that only starts alike', '<string>a</strings>'],
  ['an element in a string', '<string>a<true/></string>'],
  ['an unknown element', '<null/>'],
  ['an element in capitals', '<TRUE/>'],
  ['an attribute', '<string id="a">x</string>'],
  ['text in true', '<true>yes</true>'],
  ['an empty integer', '<integer/>'],
  ['an integer without digits', '<integer></integer>'],
  ['an integer with letters', '<integer>12abc</integer>'],
  ['a fraction as integer', '<integer>1.5</integer>'],
  ['a hexadecimal without digits', '<integer>0x</integer>'],
  ['an integer beyond 64 bits', '<integer>18446744073709551616</integer>'],
  ['an integer below 64 bits', '<integer>-9223372036854775809</integer>'],
  ['a real with letters', '<real>1.5x</real>'],
  ['a real beyond doubles', '<real>1e999</real>'],
  ['an empty real', '<real/>'],
  ['a day that is not', '<date>2023-02-30T00:00:00Z</date>'],
  ['an hour that is not', '<date>2023-01-01T25:00:00Z</date>'],
  ['a date without zone', '<date>2023-01-01T00:00:00</date>'],
  ['a date in words', '<date>tomorrow</date>'],
  ['an empty date', '<date/>'],
  ['data with other characters', '<data>aGVs*bG8=</data>'],
  ['data in the URL alphabet', '<data>-_-_</data>'],
  ['data cut short', '<data>aGVsbG8</data>'],
  ['data after padding', '<data>aGVsbG8=aGVs</data>'],
  ['data with padding only', '<data>====</data>'],
  ['a bare ampersand', '<string>a & b</string>'],
  ['an entity without end', '<string>&amp</string>'],
  ['an unknown entity', '<string>&nbsp;</string>'],
  ['a reference to NUL', '<string>&#0;</string>'],
  ['a reference to a surrogate', '<string>&#xD800;</string>'],
  ['a reference beyond Unicode', '<string>&#x110000;</string>'],
  ['NUL in text', '<string>a\0b</string>'],
  ['NUL in a key', '<dict><key>a\0</key><true/></dict>'],
  ['a control character in CDATA', '<string><![CDATA[\u0001]]></string>'],
  ['a noncharacter', '<string>\uffff</string>'],
  ['NUL in data', '<data>aGVs\0bG8=</data>'],
  ['an unclosed CDATA section', '<string><![CDATA[x</string>'],
];

describe('hostile property lists', () => {
  it.each(WITHOUT_WRAPPER)('refuses %s', (_what, text) => {
    expect(failure(Buffer.from(text))).toMatchObject({ code: 'invalid_plist', status: 400 });
  });

  it.each(INSIDE)('refuses %s', (_what, markup) => {
    expect(failure(document(markup))).toMatchObject({ code: 'invalid_plist', status: 400 });
  });

  it.each([
    'checkin/TokenUpdate.ios-11.3.1.bad-base64.plist',
    'checkin/TokenUpdate.macos-10.11-user.bad-base64.plist',
    'response/CertificateList.ios-11.3.1.bad-base64.plist',
  ])('refuses the words in place of base64 in %s', (path) => {
    expect(failure(fixture(path)).message).toBe('Not a valid property list: bad base64 data');
  });

  it('refuses text that is not UTF-8', () => {
    const bytes = Buffer.concat([Buffer.from('<plist><string>'), Buffer.from([0xc3, 0x28])]);
    expect(failure(bytes).message).toBe('Not a valid property list: its text is not UTF-8');
    const utf16 = Buffer.from('\ufeff<plist><true/></plist>', 'utf16le');
    expect(failure(utf16).code).toBe('invalid_plist');
  });

  it('does not expand a billion laughs', () => {
    const bomb = `<!DOCTYPE plist [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>
      <plist><string>&b;&b;&b;&b;</string></plist>`;
    expect(failure(Buffer.from(bomb)).message).toContain('its DOCTYPE declares something');
  });

  it('reads 64 levels and refuses 65', () => {
    const nested = (levels: number) =>
      document(`${'<array>'.repeat(levels)}${'</array>'.repeat(levels)}`);
    expect(parsePlist(nested(64))).toHaveLength(1);
    expect(failure(nested(65)).message).toContain('nested too deep');
  });

  it('stops at once at 200,000 levels', () => {
    const bytes = document('<dict><key>a</key>'.repeat(200_000));
    const started = performance.now();
    expect(failure(bytes).message).toContain('nested too deep');
    expect(performance.now() - started).toBeLessThan(500);
  });

  it('enforces its limits', () => {
    const bytes = document('<array><true/><true/><true/></array>');
    expect(parsePlist(bytes, { maxNodes: 4 })).toEqual([true, true, true]);
    expect(failure(bytes, { maxNodes: 3 }).message).toContain('too many values');
    expect(failure(bytes, { maxBytes: bytes.length - 1 }).message).toContain('too large');
    expect(failure(document('<array/>'), { maxDepth: 0 }).message).toContain('nested too deep');
  });

  it('refuses more than 500,000 values', () => {
    const bytes = document(`<array>${'<true/>'.repeat(500_000)}</array>`);
    expect(failure(bytes).message).toContain('too many values');
  });

  it('reads 200,000 references and refuses one more', () => {
    const references = (count: number) => document(`<string>${'&amp;'.repeat(count)}</string>`);
    expect(parsePlist(references(200_000))).toBe('&'.repeat(200_000));
    expect(failure(references(200_001)).message).toContain('too many references');
  });

  it('counts comments and CDATA sections with the values', () => {
    const limits = { maxNodes: 3 };
    expect(parsePlist(document('<!----><!----><true/>'), limits)).toBe(true);
    expect(failure(document('<!----><!----><!----><true/>'), limits).message).toContain(
      'too many values',
    );
    const sections = document(`<string>${'<![CDATA[a]]>'.repeat(3)}</string>`);
    expect(failure(sections, limits).message).toContain('too many values');
  });

  it('reads 16 attributes of the plist element and refuses more, or ones without end', () => {
    const attributes = (count: number) =>
      Buffer.from(`<plist${' a="b"'.repeat(count)}><true/></plist>`);
    expect(parsePlist(attributes(16))).toBe(true);
    expect(failure(attributes(17)).message).toContain('there is no plist element');
    // As many as fit into 8 MB overflowed the stack of the pattern.
    expect(failure(attributes(1_400_000)).message).toContain('there is no plist element');
    const long = Buffer.from(`<plist a="${'b'.repeat(4_000)}"><true/></plist>`);
    expect(failure(long).message).toContain('there is no plist element');
  });

  it.each([
    ['carriage returns', `<string>${'\r'.repeat(4_000_000)}</string>`],
    ['lines', `<string>${'a\r\n'.repeat(1_400_000)}</string>`],
    ['white space in data', `<data>${'A A A A '.repeat(500_000)}</data>`],
  ])('reads 4 MB of %s in linear time', (_what, markup) => {
    const bytes = document(markup);
    const times = [1, 2, 3].map(() => {
      const started = performance.now();
      parsePlist(bytes);
      return performance.now() - started;
    });
    // 15 to 40 ms on an idle machine; a replacement a match took 500 to 700.
    expect(Math.min(...times)).toBeLessThan(400);
  });

  it.each([
    ['digits', `<integer>${'1'.repeat(1_000_000)}</integer>`],
    ['digits of a real', `<real>${'1'.repeat(1_000_000)}x</real>`],
    ['white space in a tag', `<true${' '.repeat(1_000_000)}x/>`],
    ['ampersands', `<string>${'&'.repeat(1_000_000)}</string>`],
    ['unclosed comments', '<!--'.repeat(250_000)],
    ['opened CDATA sections', `<string>${'<![CDATA['.repeat(100_000)}</string>`],
  ])('reads or refuses a megabyte of %s in linear time', (_what, markup) => {
    // Quadratic time would take it past the limit of a test.
    expect(failure(document(markup)).code).toBe('invalid_plist');
  });

  it('is read or refused with an AppError, whatever a byte is changed to', () => {
    const bytes = fixture('response/DeviceInformation.imac-10.12.6.plist');
    for (let at = 0; at < bytes.length; at++) {
      for (const byte of [0x00, 0x26, 0x2f, 0x3c, 0x3e, 0x20, 0x80, 0xff]) {
        const changed = Buffer.from(bytes);
        changed[at] = byte;
        try {
          parsePlist(changed);
        } catch (error) {
          expect(error).toBeInstanceOf(AppError);
        }
      }
      expect(failure(bytes.subarray(0, Math.min(at, bytes.length - 4))).status).toBe(400);
    }
  });
});
