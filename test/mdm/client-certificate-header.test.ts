import { hash } from 'node:crypto';
import { encodePem } from '../../src/crypto/asn1/pem.js';
import { parseCertificate } from '../../src/crypto/x509/certificate.js';
import { AppError } from '../../src/errors.js';
import { readClientCertificateHeader } from '../../src/mdm/client-certificate-header.js';
import { codeOf, fixture, mutations } from '../crypto/identities.js';

const SEQUENCE = fixture('signature/client-cert.rfc9440.txt').toString('ascii').trim();
const BASE64 = SEQUENCE.slice(1, -1);
const DER = Buffer.from(BASE64, 'base64');
const PEM = encodePem('CERTIFICATE', DER);

/** As nginx writes $ssl_client_escaped_cert. */
const ESCAPED = encodeURIComponent(PEM);

/** As Go's url.QueryEscape writes it: a space becomes a plus sign. */
const QUERY_ESCAPED = ESCAPED.replaceAll('%20', '+');

/** As Envoy writes it: these five are escaped, and nothing else. */
const ENVOY_ESCAPED = [
  ['\n', '%0A'],
  [' ', '%20'],
  ['+', '%2B'],
  ['/', '%2F'],
  ['=', '%3D'],
].reduce((text, [from = '', to = '']) => text.replaceAll(from, to), PEM);
const HASH = `Hash=${hash('sha256', DER)}`;
const XFCC = `By=spiffe://cluster.local/ns/default;${HASH};Cert="${ENVOY_ESCAPED}"`;

describe('a client certificate header is refused', () => {
  it.each<[string, string[]]>([
    ['that is repeated', [SEQUENCE, SEQUENCE]],
    ['of which one is empty', ['', SEQUENCE]],
    ['with a list of two', [`${SEQUENCE}, ${SEQUENCE}`]],
    ['with parameters that are none', [`${SEQUENCE};`]],
    ['with a parameter in capitals', [`${SEQUENCE};A=1`]],
    ['with a parameter without its value', [`${SEQUENCE};a=`]],
    ['with a space before a parameter', [`${SEQUENCE} ;a=1`]],
    ['with a string that does not end', [`${SEQUENCE};a="b`]],
    ['with a wrong escape in a string', [`${SEQUENCE};a="\\n"`]],
    ['with an integer that is too long', [`${SEQUENCE};a=1234567890123456`]],
    ['with a list of two, one of them with a parameter', [`${SEQUENCE};a=1, ${SEQUENCE}`]],
    ['with a list within a parameter', [`${SEQUENCE};a=(1 2)`]],
    ['without the closing colon', [`:${BASE64}`]],
    ['with nothing between the colons', ['::']],
    ['in the other alphabet of base64', [SEQUENCE.replaceAll('+', '-').replaceAll('/', '_')]],
    ['with a space in it', [`:${BASE64.slice(0, 8)} ${BASE64.slice(8)}:`]],
    ['with two certificates in PEM', [encodeURIComponent(PEM + PEM)]],
    ['with a private key in PEM', [encodeURIComponent(encodePem('PRIVATE KEY', DER))]],
    ['with text before the PEM', [`Hash 1 ${ESCAPED}`]],
    [
      'with base64 without its padding',
      [Buffer.alloc(10, 0x30).toString('base64').replace(/=+$/, '')],
    ],
    ['with base64 in lines', [`${BASE64.slice(0, 64)} ${BASE64.slice(64)}`]],
    ['with base64 and an empty second certificate', [`${BASE64},`]],
    ['with base64 and something else behind it', [`${BASE64},Hash=1`]],
    ['with base64 escaped twice', [encodeURIComponent(encodeURIComponent(BASE64))]],
    ['with more certificates than any chain has', [Array(12).fill('AAAA').join()]],
    ['as a word', ['none']],
    ['that says what another header says', ['Subject="CN=device"']],
    ['with half of the PEM', [ESCAPED.slice(0, 400)]],
    ['with a broken escape', [ESCAPED.replace('%0A', '%0')]],
    ['with escapes that are no UTF-8', [`%ff${ESCAPED}`]],
    ['that is too long', [`:${'A'.repeat(16_384)}:`]],
  ])('%s', (_what, values) => {
    expect(codeOf(() => readClientCertificateHeader(values))).toBe('invalid_certificate');
  });

  it('with an AppError, or read, for mutations of every form', () => {
    for (const original of [SEQUENCE, ESCAPED, BASE64, QUERY_ESCAPED, XFCC]) {
      for (const mutation of mutations(Buffer.from(original, 'latin1'), 250, original.length)) {
        const outcome = attempt(() => readClientCertificateHeader([mutation.toString('latin1')]));
        const isOurs = outcome instanceof AppError || Buffer.isBuffer(outcome);
        expect(isOurs || outcome === undefined).toBe(true);
      }
    }
  });
});

function attempt(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}

/** Of the escapes of nginx only the letters and digits, and - . _ ~ stand as they are. */
const NGINX = PEM.replace(/[^\w.~-]/g, (character) => `%${hexOf(character)}`);
/** Apache's `escape` leaves plus and equals signs and slashes, and writes small letters. */
const APACHE_ESCAPED = PEM.replace(/[\n ]/g, (character) => `%${hexOf(character).toLowerCase()}`);
const OTHER = Buffer.from('3003020105', 'hex').toString('base64');
const NAMES = 'Subject="CN=a\\"b\\,c,O=\\\\";URI=https://example.com;DNS=a.example';

function hexOf(character: string): string {
  return character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0');
}

describe('a client certificate header is read', () => {
  it.each<[string, string]>([
    ['as RFC 9440 writes it', SEQUENCE],
    ['without the padding', SEQUENCE.replace(/=+:$/, ':')],
    ...[';x=1', ';a', '; *b-c.d_*=?0;e=-1.5', ';a="b\\" \\\\;";c=t/1:x', ';a=:AQI=:;b=*'].map(
      (parameters): [string, string] => [`with ${parameters}`, SEQUENCE + parameters],
    ),
    ['as PEM with all characters escaped', ESCAPED],
    ['as PEM with its line ends alone escaped', PEM.replaceAll('\n', '%0A')],
    ['as PEM with spaces for line ends', PEM.replaceAll('\n', ' ').trim()],
    ['as nginx writes $ssl_client_escaped_cert', NGINX],
    ["as Go's url.QueryEscape writes it", QUERY_ESCAPED],
    ['as Caddy writes {tls_client_certificate_der_base64}', BASE64],
    ['as HAProxy writes %[ssl_c_der,base64]', DER.toString('base64')],
    ['as Traefik writes it', PEM.replace(/-----[A-Z ]+-----|\n/g, '')],
    ['as Traefik writes a chain', `${BASE64},${OTHER},${OTHER}`],
    ['as Traefik before 2.9.4 writes a chain', encodeURIComponent(`${BASE64},${OTHER}`)],
    ['as Apache writes %{SSL_CLIENT_CERT}s', PEM.replaceAll('\n', ' ')],
    ['as Apache escapes it', APACHE_ESCAPED],
    ['as Envoy writes it', XFCC],
    ['as Envoy writes it with a chain and names', `${XFCC};Chain="${ENVOY_ESCAPED}";${NAMES}`],
    ['in a header of Envoy with keys in other letters', `HASH=1;cert="${ENVOY_ESCAPED}"`],
    ['in a header of Envoy without quotes', `Hash=1;Cert=${ENVOY_ESCAPED}`],
  ])('%s', (_what, value) => {
    const der = readClientCertificateHeader([value]) ?? Buffer.alloc(0);
    expect(der).toEqual(DER);
    expect(parseCertificate(der).commonName).toBe('mdm.example.org');
  });

  it.each([
    ['as Caddy writes an unknown placeholder', '{http.request.tls.client.certificate_der_base64}'],
    [
      'as Caddy writes it in the form of RFC 9440',
      ':{http.request.tls.client.certificate_der_base64}:',
    ],
    ['as Apache writes an unset variable', '(null)'],
  ])('as none %s', (_what, value) => {
    expect(readClientCertificateHeader([value])).toBeUndefined();
  });

  it('as base64 of DER that happens to contain BEGIN', () => {
    const value = `MAQC${'BEGIN'.padEnd(8, 'A')}`;
    expect(readClientCertificateHeader([value])).toEqual(Buffer.from(value, 'base64'));
  });

  it('as none when it is empty, or not there', () => {
    expect(readClientCertificateHeader([''])).toBeUndefined();
    expect(readClientCertificateHeader([])).toBeUndefined();
  });
});

describe('of the elements in a header of Envoy', () => {
  const forged = `Hash=1;Cert="${encodeURIComponent(encodePem('CERTIFICATE', Buffer.alloc(9, 1)))}"`;

  it.each<[string, string]>([
    ['a second one', `${forged},${XFCC}`],
    ['a second one with a space before it', `${forged}, ${XFCC}`],
    ['the last of three', `${forged},${forged},${XFCC}`],
    ['one behind a quoted text that is not closed', `Hash=1;Subject="CN=x,${XFCC}`],
    ['one behind a lone backslash', `Hash=1;Subject="CN=x\\,${XFCC};${NAMES}`],
    ['one with commas in quotes', `${forged},${XFCC};Subject="CN=a,O=b"`],
  ])("the last proxy's counts: %s", (_what, value) => {
    expect(readClientCertificateHeader([value])).toEqual(DER);
  });

  it.each<[string, string]>([
    ['the last has no certificate', `${XFCC},${HASH}`],
    ['the last has two certificates', `${XFCC};Cert="${ENVOY_ESCAPED}"`],
    ['the last is empty', `${XFCC},`],
    ['the last has a key without a value', `Hash;Cert="${ENVOY_ESCAPED}"`],
    ['a quoted text of the last is not closed', `Hash=1;Cert="${ENVOY_ESCAPED}`],
    ['something follows a quoted text', `Hash=1;Cert="${ENVOY_ESCAPED}"x`],
    ['the certificate is not PEM', `Hash=1;Cert="${BASE64}"`],
    ['another form comes before it', `${SEQUENCE},${XFCC}`],
    ['base64 comes before it', `${BASE64},${XFCC}`],
  ])('none counts when %s', (_what, value) => {
    expect(codeOf(() => readClientCertificateHeader([value]))).toBe('invalid_certificate');
  });
});
