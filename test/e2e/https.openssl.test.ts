import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { encodePem } from '../../src/crypto/asn1/pem.js';
import { openProfile } from '../../src/lab/devices/profiles.js';
import { type PlistDict, parsePlistDict } from '../../src/protocol/plist/plist.js';
import { preparedDataDir } from '../helpers/prepared-data.js';
import { cleanUp, freePort, newHome, runToEnd, serve } from '../helpers/process.js';
import { AdminClient, readAdminToken } from './admin-client.js';

afterAll(cleanUp);

/** A self-signed certificate for localhost, in cert.pem and key.pem. */
function makeCertificate(home: string): { cert: string; key: string } {
  const [cert, key] = [join(home, 'cert.pem'), join(home, 'key.pem')];
  execFileSync(
    'openssl',
    [
      ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost'],
      ...['-addext', 'subjectAltName=DNS:localhost', '-keyout', key, '-out', cert],
    ],
    { stdio: 'pipe' },
  );
  return { cert, key };
}

/** As a person gets it who goes on past the warning of the browser. PEM of what it makes trusted. */
async function readTrustProfile(url: string): Promise<string[]> {
  const sent = get(url, { rejectUnauthorized: false });
  const [reply] = (await once(sent, 'response')) as [IncomingMessage];
  const { plist } = openProfile(await buffer(reply));
  const payloads = parsePlistDict(plist).PayloadContent as PlistDict[];
  return payloads.map(({ PayloadContent }) => encodePem('CERTIFICATE', PayloadContent as Buffer));
}

describe('over HTTPS', () => {
  it('devices enroll that trust the certificate, and no others', async () => {
    const home = newHome();
    const { cert: TLS_CERT_FILE, key: TLS_KEY_FILE } = makeCertificate(home);
    const port = await freePort();
    const env = { PORT: String(port), TLS_CERT_FILE, TLS_KEY_FILE };
    await serve({ dataDir: await preparedDataDir(), env });
    const simulate = ['simulate', '--devices', '2', '--url', `https://localhost:${port}`];

    const outsiders = await runToEnd(simulate);
    expect(outsiders.code).toBe(1);
    expect(outsiders.output).toContain('self-signed certificate: trust its CA with --ca FILE');

    const friends = await runToEnd([...simulate, '--ca', TLS_CERT_FILE]);
    expect(friends.output).toContain('Devices:  2 of 2 enrolled');
    expect(friends.code).toBe(0);
  });

  it('devices enroll that trust what the trust profile brought them, over the air, too', async () => {
    const home = newHome();
    const { cert: TLS_CERT_FILE, key: TLS_KEY_FILE } = makeCertificate(home);
    const port = await freePort();
    const env = { PORT: String(port), TLS_CERT_FILE, TLS_KEY_FILE, LAB: 'on' };
    await serve({ dataDir: await preparedDataDir(), env });
    const url = `https://localhost:${port}`;
    const trusted = join(home, 'trusted.pem');
    const certificates = await readTrustProfile(`${url}/enroll/trust.mobileconfig`);
    writeFileSync(trusted, certificates.join(''));
    expect(certificates).toContain(readFileSync(TLS_CERT_FILE, 'utf8'));

    const common = ['simulate', '--devices', '1', '--url', url, '--ca', trusted];
    for (const way of ['profile', 'ota']) {
      const { output, code } = await runToEnd([...common, '--enroll', way]);
      expect(output).toContain('Devices:  1 of 1 enrolled');
      expect(code).toBe(0);
    }
  });

  it('devices enroll after a restart when the certificate was stored, with no further setting', async () => {
    const home = newHome();
    const { cert, key } = makeCertificate(home);
    const port = await freePort();
    const [dataDir, env] = [await preparedDataDir(), { PORT: String(port) }];
    const plain = await serve({ dataDir, env });
    expect(plain.url).toBe(`http://127.0.0.1:${port}`);
    const admin = new AdminClient(plain.url, readAdminToken(dataDir));
    const [pem_certificate, pem_private_key] = [cert, key].map((file) =>
      readFileSync(file, 'utf8'),
    );
    const attributes = { pem_certificate, pem_private_key };
    const data = { type: 'certificates', attributes };
    expect((await admin.call('/ssl_certificates', { data })).status).toBe(201);
    await plain.waitFor(/"code":"restart_for_https"/);
    plain.kill('SIGTERM');
    expect(await plain.ended).toBe(0);

    const secure = await serve({ dataDir, env });
    expect(secure.url).toBe(`https://127.0.0.1:${port}`);
    expect(secure.output()).toContain(`"publicUrl":"https://localhost:${port}"`);
    const args = ['simulate', '--devices', '1', '--url', `https://localhost:${port}`];
    const { code, output } = await runToEnd([...args, '--ca', cert]);
    expect(output).toContain('Devices:  1 of 1 enrolled');
    expect(code).toBe(0);
  });
});
