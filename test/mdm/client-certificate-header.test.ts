import { parseCertificate } from '../../src/crypto/certificate.js';
import { encodePem } from '../../src/crypto/pem.js';
import { AppError } from '../../src/errors.js';
import { readClientCertificateHeader } from '../../src/mdm/client-certificate-header.js';
import { codeOf, fixture, mutations } from '../crypto/identities.js';

const SEQUENCE = fixture('signature/client-cert.rfc9440.txt').toString('ascii').trim();
const BASE64 = SEQUENCE.slice(1, -1);
const DER = Buffer.from(BASE64, 'base64');
const PEM = encodePem('CERTIFICATE', DER);

/** As nginx writes $ssl_client_escaped_cert. */
const ESCAPED = encodeURIComponent(PEM);

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
    ['with base64 alone', [BASE64]],
    ['with nothing between the colons', ['::']],
    ['in the other alphabet of base64', [SEQUENCE.replaceAll('+', '-').replaceAll('/', '_')]],
    ['with a space in it', [`:${BASE64.slice(0, 8)} ${BASE64.slice(8)}:`]],
    ['with two certificates in PEM', [encodeURIComponent(PEM + PEM)]],
    ['with a private key in PEM', [encodeURIComponent(encodePem('PRIVATE KEY', DER))]],
    ['with text before the PEM', [`Hash=1;Cert="${ESCAPED}"`]],
    ['with half of the PEM', [ESCAPED.slice(0, 400)]],
    ['with a broken escape', [ESCAPED.replace('%0A', '%0')]],
    ['with escapes that are no UTF-8', [`%ff${ESCAPED}`]],
    ['that is too long', [`:${'A'.repeat(16_384)}:`]],
  ])('%s', (_what, values) => {
    expect(codeOf(() => readClientCertificateHeader(values))).toBe('invalid_certificate');
  });

  it('in 500 mutations of both forms by nothing but our own error', () => {
    for (const original of [SEQUENCE, ESCAPED]) {
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
  ])('%s', (_what, value) => {
    const der = readClientCertificateHeader([value]) ?? Buffer.alloc(0);
    expect(der).toEqual(DER);
    expect(parseCertificate(der).commonName).toBe('mdm.example.org');
  });

  it('as none when it is empty, or not there', () => {
    expect(readClientCertificateHeader([''])).toBeUndefined();
    expect(readClientCertificateHeader([])).toBeUndefined();
  });
});
