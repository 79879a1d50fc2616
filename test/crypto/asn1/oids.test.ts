import { decodeOid, encodeOid, Oid } from '../../../src/crypto/asn1/oids.js';
import { codeOf } from '../identities.js';

const hex = (text: string): Buffer => Buffer.from(text, 'hex');

describe('object identifiers', () => {
  it.each(['', '80', '2a80', '2a8001', '2a86', '00'.repeat(65)])(
    'refuses the octets %s',
    (text) => {
      expect(codeOf(() => decodeOid(hex(text)))).toBe('invalid_asn1');
    },
  );

  it.each(['', '1', '3.1', '1.40', '0.40.1', '1.02', '1.2.', '1.a', '1.-2', '1 2'])(
    'refuses the text "%s"',
    (text) => {
      expect(codeOf(() => encodeOid(text))).toBe('invalid_asn1');
    },
  );

  it.each([
    ['0.9.2342.19200300.100.1.1', '0992268993f22c640101'],
    ['1.3.6.1.4.1.311.20.2.3', '2b060104018237140203'],
    ['2.999.3', '883703'],
    ['2.25.329800735698586629295641978511506172918', '6983f09da7ebcfdee0c7a1a7b2c0948cc8f9d776'],
    ['1.39', '4f'],
    ['2.0', '50'],
  ])('reads and writes %s', (dotted, octets) => {
    expect(encodeOid(dotted).toString('hex')).toBe(octets);
    expect(decodeOid(hex(octets))).toBe(dotted);
  });

  it('knows its own names both ways', () => {
    for (const dotted of Object.values(Oid)) expect(decodeOid(encodeOid(dotted))).toBe(dotted);
  });
});
