import { createHash } from 'node:crypto';
import { encodePem } from '../../src/crypto/asn1/pem.js';
import { auditDetails } from '../../src/events/audit-values.js';
import { sampleCertificate } from '../conformance/sample-certificate.js';

const sha256 = (text: string | Buffer) => createHash('sha256').update(text).digest('hex');
const detail = (value: unknown) => auditDetails({ details: { value } }).value;

describe('the values of an audit event', () => {
  it('have the form that the API shows', () => {
    const at = new Date('2026-03-26T23:42:09Z');
    expect(detail({ at, list: [1n, null, undefined, true], none: undefined })).toEqual({
      at: '2026-03-26T23:42:09+00:00',
      list: ['1', null, null, true],
    });
  });

  it('include the changes in the details', () => {
    const changes = {
      name: ['a', 'b'] as [unknown, unknown],
      password: 'changed' as const,
      tags: { added: [1], removed: [] },
    };
    expect(auditDetails({ changes, details: { force: true } })).toEqual({ changes, force: true });
  });

  it('are digests if they are long or binary', () => {
    const text = 'x'.repeat(1001);
    expect(detail(text)).toBe(`sha256:${sha256(text)} (1001 characters)`);
    expect(detail('x'.repeat(1000))).toHaveLength(1000);
    expect(detail(Buffer.from('abc'))).toBe(`sha256:${sha256('abc')} (3 bytes)`);
    const wide = Object.fromEntries(
      Array.from({ length: 900 }, (_, at) => [`k${at}`, 'v'.repeat(20)]),
    );
    expect(detail(wide)).toMatch(/^sha256:[0-9a-f]{64} \(\d+ characters\)$/);
  });

  it('contain the fingerprint of a certificate, and nothing of a private key', () => {
    const pem = sampleCertificate(1);
    const der = Buffer.from(pem.replace(/-----[^-]+-----/g, ''), 'base64');
    expect(detail(pem)).toBe(`CERTIFICATE sha256:${sha256(der)}`);
    expect(detail(encodePem('PRIVATE KEY', Buffer.from('a secret')))).toBe('PRIVATE KEY');
  });

  it('name at most 1,000 elements of a list', () => {
    const added = Array.from({ length: 5000 }, (_, at) => at);
    const { changes } = auditDetails({ changes: { devices: { added, removed: [] } } });
    const stored = (changes as { devices: { added: unknown[] } }).devices.added;
    expect([stored.length, stored.at(-2), stored.at(-1)]).toEqual([1001, 999, 'and 4000 more']);
  });

  it('are at most about 64,000 characters together', () => {
    const names = Array.from({ length: 200 }, (_, at) => `attribute_${at}`);
    const changes = Object.fromEntries(
      names.map((name): [string, [unknown, unknown]] => [name, ['a'.repeat(900), 'b'.repeat(900)]]),
    );
    const stored = JSON.stringify(auditDetails({ changes }));
    expect(stored.length).toBeLessThan(64_000 + 200 * 200);
    expect(stored).toContain('a'.repeat(900));
  });
});
