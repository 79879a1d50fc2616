import { parsePlist, parsePlistDict } from '../../../src/protocol/plist/plist.js';
import { document, fixture } from './plist-fixtures.js';

function read(markup: string): unknown {
  return parsePlist(document(markup));
}

describe('reading XML property lists', () => {
  it('refuses a document whose value is no dictionary in parsePlistDict', () => {
    expect(() => parsePlistDict(document('<array/>'))).toThrow('it is no dictionary');
  });

  it('reads every kind of value', () => {
    const value = read(`<dict>
      <key>s</key><string>text</string><key>i</key><integer>-12</integer>
      <key>r</key><real>64.5</real><key>t</key><true/><key>f</key><false/>
      <key>d</key><date>2016-11-03T03:12:26Z</date><key>b</key><data>aGVsbG8=</data>
      <key>a</key><array><string>x</string><integer>2</integer></array><key>n</key><dict/>
    </dict>`);
    expect(value).toEqual({
      s: 'text',
      i: -12,
      r: 64.5,
      t: true,
      f: false,
      d: new Date(Date.UTC(2016, 10, 3, 3, 12, 26)),
      b: Buffer.from('hello'),
      a: ['x', 2],
      n: {},
    });
  });

  it.each([
    ['9007199254740991', 9007199254740991],
    ['9007199254740992', 9007199254740992n],
    ['9007199254740993', 9007199254740993n],
    ['-9007199254740993', -9007199254740993n],
    ['18446744073709551615', 18446744073709551615n],
    ['-9223372036854775808', -9223372036854775808n],
    ['0x1F', 31],
    ['-0x10', -16],
    ['+7', 7],
    ['-0', 0],
    ['007', 7],
    [' \n42\t', 42],
  ])('reads the integer %j exactly', (text, value) => {
    expect(read(`<integer>${text}</integer>`)).toBe(value);
  });

  it.each([
    ['64', 64],
    ['0.1', 0.1],
    ['-1.5e3', -1500],
    ['.5', 0.5],
    ['5.', 5],
    ['nan', Number.NaN],
    ['+infinity', Number.POSITIVE_INFINITY],
    ['-inf', Number.NEGATIVE_INFINITY],
  ])('reads the real %j', (text, value) => {
    expect(read(`<real>${text}</real>`)).toBe(value);
  });

  it("reads the dates Apple uses for 'never' and 'always'", () => {
    expect(read('<date>0001-01-01T00:00:00Z</date>')).toEqual(new Date('0001-01-01T00:00:00Z'));
    expect(read('<date>4001-01-01T00:00:00Z</date>')).toEqual(new Date('4001-01-01T00:00:00Z'));
    expect(read('<date>2024-02-29T23:59:59Z</date>')).toEqual(new Date('2024-02-29T23:59:59Z'));
  });

  it('reads data with white space anywhere in it', () => {
    expect(read('<data>\n\t\taGVs\r\n\t\tbG8=\n\t</data>')).toEqual(Buffer.from('hello'));
    expect(read('<data></data>')).toEqual(Buffer.alloc(0));
    expect(read('<data>aGVs<!-- x -->bG8=</data>')).toEqual(Buffer.from('hello'));
  });

  it('reads empty elements, however they are written', () => {
    const markup =
      '<string/><string></string><data/><array/><dict /><true></true><false ></false >';
    expect(read(`<array>${markup}</array>`)).toEqual([
      '',
      '',
      Buffer.alloc(0),
      [],
      {},
      true,
      false,
    ]);
  });

  it('decodes references and CDATA sections and keeps white space', () => {
    const text = ' a &amp; b &lt;c&gt; &quot;d&apos; &#65;&#x1F600;<![CDATA[<&raw;>]]><!-- no --> ';
    expect(read(`<string>${text}</string>`)).toBe(' a & b <c> "d\' A\u{1F600}<&raw;> ');
  });

  it('reads line ends as a line feed, but keeps a carriage return that is a reference', () => {
    expect(read('<string>a\r\nb\rc&#13;d</string>')).toBe('a\nb\nc\rd');
  });

  it('lets the last of two equal keys win', () => {
    const markup = '<dict><key>a</key><integer>1</integer><key>a</key><integer>2</integer></dict>';
    expect(read(markup)).toEqual({ a: 2 });
  });

  it('accepts a byte order mark, no XML declaration, comments and a DOCTYPE without subset', () => {
    const doctype =
      '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">';
    const text = `\ufeff<!-- one -->${doctype}<!-- two -->\n<plist><!-- x --><string>é</string></plist>\n<!-- y -->`;
    expect(parsePlist(Buffer.from(text))).toBe('é');
    expect(parsePlist(Buffer.from('<!DOCTYPE plist SYSTEM "x"><plist><true/></plist>'))).toBe(true);
  });

  it('makes keys named like members of Object their own, and pollutes nothing', () => {
    const markup = '<key>__proto__</key><dict><key>bad</key><true/></dict>';
    const value = parsePlistDict(document(`<dict>${markup}<key>constructor</key><true/></dict>`));
    expect(Object.keys(value)).toEqual(['__proto__', 'constructor']);
    expect(JSON.stringify(value)).toBe('{"__proto__":{"bad":true},"constructor":true}');
    expect(({} as { bad?: unknown }).bad).toBeUndefined();
    expect(parsePlistDict(document('<dict/>')).toString).toBeUndefined();
  });

  it('reads a report with text outside ASCII', () => {
    const report = parsePlistDict(fixture('response/Error.invalid-request-type.plist'));
    expect(report.ErrorChain).toEqual([
      {
        ErrorCode: 12021,
        ErrorDomain: 'MCMDMErrorDomain',
        LocalizedDescription: '“OSUpdateStatus” is not a valid request type.',
        USEnglishDescription: '“OSUpdateStatus” is not a valid request type.',
      },
    ]);
  });
});
