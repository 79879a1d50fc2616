import { chmodSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { preparedDataDir } from '../helpers/prepared-data.js';
import { cleanUp, freePort, runToEnd, serve } from '../helpers/process.js';
import { temporaryTls } from '../helpers/tls.js';

interface Report {
  status: string;
  findings: { code: string; severity: string; what: string }[];
}

// No test asks Apple anything; a stand-in over http is not asked at all.
const APNS_HOST = 'http://127.0.0.1:9';

async function examine(dataDir: string, env: Record<string, string>) {
  const options = { dataDir, env: { APNS_HOST, ...env } };
  const { code, output } = await runToEnd(['doctor', '--json'], options);
  const report = JSON.parse(output) as Report;
  const found = report.findings.map((one) => `${one.severity} ${one.code}`);
  // Beside other tests a round trip can take longer than the doctor likes.
  return { code, found: found.map((one) => one.replace('warning database_slow', 'ok database')) };
}

afterAll(cleanUp);

describe('muster doctor with the embedded PostgreSQL', () => {
  it('examines the server beside which it runs, and its database once it is stopped', async () => {
    const dataDir = await preparedDataDir();
    const port = await freePort();
    const env = { PORT: String(port), APNS_HOST };
    const server = await serve({ dataDir, env });
    const beside = await examine(dataDir, env);
    expect(beside.found.filter((one) => !one.startsWith('ok '))).toEqual([
      'error no_push_certificate',
      'warning public_address_plain_http',
      'warning backup_missing',
    ]);
    expect(beside.found).toEqual(
      expect.arrayContaining([
        ...['ok public_address', 'ok same_server', 'ok clock_public_address', 'ok database'],
        ...['ok schema', 'ok database_settings', 'ok files', 'ok processes', 'ok jobs'],
      ]),
    );
    expect(beside.code).toBe(2);
    chmodSync(join(dataDir, 'master.key'), 0o644);
    expect((await examine(dataDir, env)).found).toContain('error master_key_readable');
    chmodSync(join(dataDir, 'master.key'), 0o600);

    server.kill('SIGTERM');
    expect(await server.ended).toBe(0);
    const before = readdirSync(dataDir).sort();
    const without = await examine(dataDir, env);
    expect(without.found).toEqual(
      expect.arrayContaining([
        ...['error public_address_unreachable', 'warning server_not_running'],
        ...['ok schema', 'ok master_key', 'ok files'],
      ]),
    );
    expect(readdirSync(dataDir).sort()).toEqual(before);
  }, 60_000);

  it('sees that the server speaks TLS, and that only a profile makes devices trust it', async () => {
    const dataDir = await preparedDataDir();
    const env = { PORT: String(await freePort()), APNS_HOST, ...(await temporaryTls()) };
    await serve({ dataDir, env });
    const { found } = await examine(dataDir, env);
    expect(found).toEqual(
      expect.arrayContaining([
        'ok public_address',
        'ok same_server',
        'warning tls_certificate_private',
      ]),
    );
    expect(found).not.toContain('warning public_address_plain_http');
  }, 60_000);
});
