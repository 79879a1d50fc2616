import {
  buildPlist,
  type PlistInput,
  PlistReal,
  parsePlist,
} from '../../../src/protocol/plist/plist.js';

function body(value: PlistInput): string {
  const text = buildPlist(value).toString('utf8');
  return text.slice(text.indexOf('<plist version="1.0">\n') + 22, -'</plist>\n'.length);
}

describe('writing XML property lists', () => {
  it.each([
    ['a NUL', 'a\0'],
    ['a control character', '\u001b'],
    ['half a surrogate pair', '\ud83d'],
    ['a noncharacter', '\uffff'],
  ])('refuses %s in text and in keys', (_what, text) => {
    expect(() => buildPlist(text)).toThrow('a character XML does not allow');
    expect(() => buildPlist({ [text]: true })).toThrow('a character XML does not allow');
  });

  it('refuses dates that are none, null, and what the reader would find too deep', () => {
    expect(() => buildPlist(new Date(Number.NaN))).toThrow('a date out of range');
    expect(() => buildPlist(new Date('+010000-01-01T00:00:00Z'))).toThrow('a date out of range');
    expect(() => buildPlist([null] as unknown as PlistInput)).toThrow('a value of no known type');
    let deep: PlistInput = [];
    for (let level = 1; level < 64; level++) deep = [deep];
    expect(parsePlist(buildPlist(deep))).toHaveLength(1);
    expect(() => buildPlist([deep])).toThrow('nested too deep');
  });

  it("writes Apple's document type and indents with tabs", () => {
    expect(buildPlist({ a: [1, {}], b: [], c: 'x' }).toString('utf8')).toBe(
      `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
\t<key>a</key>
\t<array>
\t\t<integer>1</integer>
\t\t<dict/>
\t</array>
\t<key>b</key>
\t<array/>
\t<key>c</key>
\t<string>x</string>
</dict>
</plist>
`,
    );
  });

  it.each<[PlistInput, string]>([
    [64, '<integer>64</integer>'],
    [-0, '<integer>0</integer>'],
    [2 ** 53, '<real>9007199254740992</real>'],
    [9007199254740993n, '<integer>9007199254740993</integer>'],
    [0.1, '<real>0.1</real>'],
    [new PlistReal(64), '<real>64</real>'],
    [Number.NaN, '<real>nan</real>'],
    [Number.NEGATIVE_INFINITY, '<real>-infinity</real>'],
    [true, '<true/>'],
    [false, '<false/>'],
    [new Date('2016-11-03T03:12:26.789Z'), '<date>2016-11-03T03:12:26Z</date>'],
    [new Date('0001-01-01T00:00:00Z'), '<date>0001-01-01T00:00:00Z</date>'],
    [Buffer.from('hello'), '<data>aGVsbG8=</data>'],
    [new Uint8Array([1, 2, 3]), '<data>AQID</data>'],
    ['a & b <c> "d"\r\n\u{1F600}', '<string>a &amp; b &lt;c&gt; "d"&#13;\n\u{1F600}</string>'],
    ['', '<string></string>'],
    [{ a: undefined }, '<dict/>'],
  ])('writes %p', (value, markup) => {
    expect(body(value)).toBe(`${markup}\n`);
  });

  it('reads back what it wrote', () => {
    const value = {
      text: 'tab\tline\nreturn\r & <b> ü \u{1F600}',
      '<key> & ü': 1,
      numbers: [0, -1, 2 ** 53 - 1, 1.5e-7, 1e21, 18446744073709551615n],
      data: Buffer.from([0, 255, 254]),
      date: new Date('2024-02-29T12:00:00Z'),
      nested: { empty: {}, none: [], yes: true, no: false },
    };
    expect(parsePlist(buildPlist(value))).toEqual(value);
  });
});
