import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import { caveatsOf, openTls } from './open-tls.js';

describe('a server with plain HTTP', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  const https = { publicUrl: 'https://mdm.example.com' };

  it('says so when devices are told https, with what to do', async () => {
    const { tls, warnings } = await openTls(database, https);
    await tls.refresh();
    expect(caveatsOf(tls)).toEqual(['https_without_certificate']);
    expect(warnings()).toEqual([
      'Devices are told https://mdm.example.com, but this process serves plain HTTP, and no proxy ' +
        'is named that would speak TLS for it. POST an ssl certificate with its private key to ' +
        '/api/v1/ssl_certificates, or set TLS_CERT_FILE and TLS_KEY_FILE, and start it again; with ' +
        'a proxy before it set TRUST_PROXY to the address of that, or TLS=off.',
    ]);
  });

  it.each([
    ['devices are told http', { publicUrl: 'http://mdm.example.com' }],
    ['a proxy is known', { ...https, trustProxy: ['127.0.0.1'] }],
    ['TLS is off', { ...https, storedTls: false }],
    ['no device talks to it', { ...https, role: 'worker' as const }],
  ])('says nothing where %s', async (_what, config) => {
    const { tls, warnings } = await openTls(database, config);
    expect([tls.caveats, warnings()]).toEqual([[], []]);
  });
});
