import { derElement, readDer, Tag } from '../../../src/crypto/asn1/der.js';
import { encodeName, parseName } from '../../../src/crypto/x509/names.js';
import { parseDistinguishedName } from '../../../src/crypto/x509/parse-distinguished-name.js';
import { codeOf } from '../identities.js';

/** The subject of a certificate made with this text. */
function shown(text: string): string {
  const der = encodeName(parseDistinguishedName(text));
  expect(derElement(Tag.sequence, readDer(der).content).equals(der)).toBe(true);
  return parseName(readDer(der)).text;
}

describe('parseDistinguishedName', () => {
  it.each([
    '',
    '   ',
    'Example',
    'CN',
    '=Example',
    'CN=',
    'CN=a,,O=b',
    'CN=a,',
    '/',
    '/CN=a//O=b',
    'NOPE=a',
    '1.2.x=a',
    'CN=#0c0161',
    'CN=a+OU=b',
    'CN=a\\',
    'CN=a\\\\\\',
    'O=b,CN=a\\',
    '/O=b/CN=a\\',
    'CN="a\\"',
    `CN=${'a'.repeat(2_001)}`,
  ])('refuses %j', (text) => {
    expect(codeOf(() => parseDistinguishedName(text))).toBe('invalid_asn1');
  });

  it.each<[string, string]>([
    ['CN=mdm.example.com,O=Example,C=US', 'CN=mdm.example.com,O=Example,C=US'],
    [' cn = mdm , o = Example Inc. ', 'CN=mdm,O=Example Inc.'],
    ['CN=a;O=b', 'CN=a,O=b'],
    ['O=Example\\, Inc.', 'O=Example\\, Inc.'],
    ['O="Example, Inc. + Co",C=DE', 'O=Example\\, Inc. \\+ Co,C=DE'],
    ['CN=a\\=b\\\\c', 'CN=a=b\\\\c'],
    ['CN=Gr\\c3\\bc\\C3\\9Fe', 'CN=Grüße'],
    ['CN=日本', 'CN=日本'],
    ['CN=a\\ ', 'CN=a\\ '],
    [' O=b,CN=a\\  ', 'O=b,CN=a\\ '],
    ['CN=a\\\\', 'CN=a\\\\'],
    ['CN=a=b', 'CN=a=b'],
    ['CN=a/b,O=c', 'CN=a/b,O=c'],
    ['CN=a/b', 'CN=a/b'],
    ['E=me@example.com,UID=com.apple.mgmt.x', 'emailAddress=me@example.com,UID=com.apple.mgmt.x'],
    ['2.5.4.3=dotted,1.2.3.4=other', 'CN=dotted,1.2.3.4=other'],
    ['/C=US/O=Example, Inc./CN=mdm', 'CN=mdm,O=Example\\, Inc.,C=US'],
    ['C=US/O=Example/CN=mdm', 'CN=mdm,O=Example,C=US'],
    ['/CN=a\\/b', 'CN=a/b'],
  ])('reads %j', (text, expected) => {
    expect(shown(text)).toBe(expected);
    expect(shown(expected)).toBe(expected);
  });
});
