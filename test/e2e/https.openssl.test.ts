import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { cleanUp, freePort, newHome, runToEnd, serve } from '../helpers/process.js';

afterAll(cleanUp);

describe('over HTTPS', () => {
  it('devices enroll that trust the certificate, and no others', async () => {
    const home = newHome();
    const [TLS_CERT_FILE, TLS_KEY_FILE] = [join(home, 'cert.pem'), join(home, 'key.pem')];
    execFileSync(
      'openssl',
      [
        ...[
          'req',
          '-x509',
          '-newkey',
          'rsa:2048',
          '-nodes',
          '-days',
          '2',
          '-subj',
          '/CN=localhost',
        ],
        ...['-addext', 'subjectAltName=DNS:localhost', '-keyout', TLS_KEY_FILE],
        ...['-out', TLS_CERT_FILE],
      ],
      { stdio: 'pipe' },
    );
    const port = await freePort();
    const env = { PORT: String(port), TLS_CERT_FILE, TLS_KEY_FILE };
    await serve({ dataDir: join(home, 'data'), env });
    const simulate = ['simulate', '--devices', '2', '--url', `https://localhost:${port}`];

    const strangers = await runToEnd(simulate);
    expect(strangers.code).toBe(1);
    expect(strangers.output).toContain('self-signed certificate: trust its CA with --ca FILE');

    const friends = await runToEnd([...simulate, '--ca', TLS_CERT_FILE]);
    expect(friends.output).toContain('Devices:  2 of 2 enrolled');
    expect(friends.code).toBe(0);
  });
});
