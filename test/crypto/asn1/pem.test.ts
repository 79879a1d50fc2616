import { decodeBase64 } from '../../../src/crypto/asn1/base64.js';
import { decodePem, decodePemBlock, encodePem, isPem } from '../../../src/crypto/asn1/pem.js';
import { codeOf, fixture } from '../identities.js';

describe('decodeBase64', () => {
  it.each([
    'A',
    'AA',
    'AAA',
    'AA A',
    'AA\n=',
    'A===',
    '====',
    'AA=A',
    'A-__',
    'AA-A',
    'AAAä',
    '*AAA',
  ])('refuses "%s"', (text) => {
    expect(decodeBase64(text)).toBeUndefined();
  });

  it('decodes every padding', () => {
    expect(decodeBase64('')).toEqual(Buffer.alloc(0));
    expect(decodeBase64('YQ==')?.toString()).toBe('a');
    expect(decodeBase64('YWI=')?.toString()).toBe('ab');
    expect(decodeBase64('YWJj')?.toString()).toBe('abc');
    expect(decodeBase64('+/+/')).toEqual(Buffer.from('fbffbf', 'hex'));
  });
});

describe('PEM', () => {
  it.each([
    ['no block', 'hello'],
    ['another label at the end', '-----BEGIN A-----\nAAAA\n-----END B-----'],
    ['no end', '-----BEGIN A-----\nAAAA\n'],
    ['no content', '-----BEGIN A-----\n-----END A-----'],
    ['bad base64', '-----BEGIN A-----\nAAA\n-----END A-----'],
    ['header lines', '-----BEGIN A-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n-----END A-----'],
  ])('refuses a text with %s', (_what, text) => {
    expect(codeOf(() => decodePem(text))).toBe('invalid_asn1');
  });

  it('refuses a text without a block of that label', () => {
    expect(codeOf(() => decodePemBlock(encodePem('A', Buffer.from('x')), 'B'))).toBe(
      'invalid_asn1',
    );
  });

  it('refuses a text that is too large without scanning it', () => {
    expect(codeOf(() => decodePem(' '.repeat(4 * 1024 * 1024 + 1)))).toBe('invalid_asn1');
  });

  it('writes lines of 64 characters and reads them back among other text', () => {
    const der = Buffer.from([...Array(100).keys()]);
    const text = encodePem('CERTIFICATE', der);
    expect(text.split('\n').map((line) => line.length)).toEqual([27, 64, 64, 8, 25, 0]);
    const twice = `subject=x\r\n${text.replace(/\n/g, '\r\n')}\nmore\n${text}`;
    expect(decodePem(twice)).toEqual([
      { label: 'CERTIFICATE', der },
      { label: 'CERTIFICATE', der },
    ]);
  });

  it('writes a certificate with the bytes it was read from', () => {
    const text = fixture('cert/push.mock.pem').toString('latin1');
    expect(encodePem('CERTIFICATE', decodePemBlock(text, 'CERTIFICATE'))).toBe(text);
    expect(isPem(fixture('cert/push.mock.pem'))).toBe(true);
    expect(isPem(decodePemBlock(text, 'CERTIFICATE'))).toBe(false);
  });
});
