import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import { caveatsOf, openTls } from './open-tls.js';

describe('a server with plain HTTP', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  const https = { publicUrl: 'https://mdm.example.com' };

  it('is https_without_certificate, with the remedies, when PUBLIC_URL is https', async () => {
    const { tls, warnings } = await openTls(database, https);
    await tls.refresh();
    expect(caveatsOf(tls)).toEqual(['https_without_certificate']);
    expect(warnings()).toEqual([
      'PUBLIC_URL is https://mdm.example.com, but this process serves plain HTTP, and TRUST_PROXY ' +
        'names no proxy that speaks TLS for it. POST an ssl certificate with its private key to ' +
        '/api/v1/ssl_certificates, or set TLS_CERT_FILE and TLS_KEY_FILE, and start it again; ' +
        'behind a proxy set TRUST_PROXY to its address, or TLS=off.',
    ]);
  });

  it.each([
    ['PUBLIC_URL is http', { publicUrl: 'http://mdm.example.com' }],
    ['a proxy is configured', { ...https, trustProxy: ['127.0.0.1'] }],
    ['TLS is off', { ...https, storedTls: false }],
    ['no device talks to it', { ...https, role: 'worker' as const }],
  ])('has no caveat where %s', async (_what, config) => {
    const { tls, warnings } = await openTls(database, config);
    expect([tls.caveats, warnings()]).toEqual([[], []]);
  });
});
