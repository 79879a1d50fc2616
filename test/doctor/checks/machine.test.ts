import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { diskCheck, judgeSpace } from '../../../src/doctor/checks/disk.js';
import { filesCheck } from '../../../src/doctor/checks/files.js';
import { pushServiceCheck } from '../../../src/doctor/checks/push-service.js';
import { settingsCheck } from '../../../src/doctor/checks/settings.js';
import { freePort } from '../../helpers/process.js';
import {
  removeTemporaryDirectories,
  temporaryDirectory,
} from '../../helpers/temporary-directory.js';
import { brief, closeServers, examine, listenWith } from '../doctor-helpers.js';
import { PrivatePki } from '../private-pki.js';

afterEach(closeServers);
afterAll(removeTemporaryDirectories);

describe('the doctor of the files', () => {
  const filesOf = (dataDir: string, env: Record<string, string> = {}) =>
    examine({ checks: [filesCheck], env: { DATA_DIR: dataDir, ...env } });

  it('reports a DATA_DIR that does not exist', async () => {
    expect(brief(await filesOf(join(temporaryDirectory(), 'none')))).toEqual([
      'warning data_dir_missing',
    ]);
  });

  it('reports none where the settings hold what would be in it', async () => {
    const env = {
      DATA_DIR: join(temporaryDirectory(), 'none'),
      DATABASE_URL: 'postgres://u:p@db.test/muster',
      MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
      ADMIN_TOKEN: 'sixteen-characters',
    };
    expect(await examine({ checks: [filesCheck], env })).toMatchObject([
      { code: 'files', severity: 'ok', what: expect.stringContaining('do not need it') },
    ]);
  });

  it('reports what others may write or read until the command of the finding has run', async () => {
    const home = temporaryDirectory();
    const dataDir = join(home, 'data');
    mkdirSync(dataDir);
    for (const name of ['master.key', 'master.key.new', 'admin-token', 'tls.key', 'tls.pem']) {
      writeFileSync(join(dataDir, name), 'secret');
      chmodSync(join(dataDir, name), 0o644);
    }
    chmodSync(dataDir, 0o777);
    const tls = { TLS_CERT_FILE: join(dataDir, 'tls.pem'), TLS_KEY_FILE: join(dataDir, 'tls.key') };
    const findings = await filesOf(dataDir, tls);
    expect(findings.map(({ code, cure }) => [code, cure])).toEqual([
      ['data_dir_writable', `chmod go-w ${dataDir}`],
      ['master_key_readable', `chmod 600 ${dataDir}/master.key`],
      ['master_key_readable', `chmod 600 ${dataDir}/master.key.new`],
      ['admin_token_readable', `chmod 600 ${dataDir}/admin-token`],
      ['tls_key_readable', `chmod 600 ${dataDir}/tls.key`],
    ]);
    expect(findings[1]?.what).toBe(
      `Others on this machine can read the master key (${dataDir}/master.key, mode 644).`,
    );
    for (const { cure } of findings) execFileSync('sh', ['-c', cure ?? '']);
    expect(brief(await filesOf(dataDir, tls))).toEqual(['ok files']);
  });
});

describe('the doctor of the disk', () => {
  it('shows what is free', async () => {
    const env = { DATA_DIR: temporaryDirectory() };
    const [finding] = await examine({ checks: [diskCheck], env });
    expect(finding?.what).toMatch(/^The disk of DATA_DIR \(.*\) has .* free of .* \(\d+ %\)\.$/);
  });

  const GIB = 1024 ** 3;
  it.each([
    ['enough', { free: 40 * GIB, size: 100 * GIB }, 'ok'],
    ['a twentieth', { free: 4.9 * GIB, size: 100 * GIB }, 'warning'],
    ['less than 2 GiB', { free: 1.9 * GIB, size: 10 * GIB }, 'warning'],
    ['almost nothing', { free: 0.2 * GIB, size: 10 * GIB }, 'error'],
    ['nothing of a file system without blocks', { free: 0, size: 0 }, 'error'],
  ])('judges %s', (_what, space, severity) => {
    expect(judgeSpace('/data', space).severity).toBe(severity);
  });

  const isRoot = process.getuid?.() === 0 && process.platform === 'linux';
  (isRoot ? it : it.skip)('reports a full file system until there is room', async () => {
    const dataDir = temporaryDirectory();
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'muster-test', dataDir]);
    } catch {
      return; // a container without the right to mount
    }
    try {
      const check = () => examine({ checks: [diskCheck], env: { DATA_DIR: dataDir } });
      expect(brief(await check())).toEqual(['error disk_full']);
      execFileSync('mount', ['-o', 'remount,size=8g', dataDir]);
      expect(brief(await check())).toEqual(['ok disk']);
    } finally {
      execFileSync('umount', [dataDir]);
    }
  });
});

describe('the doctor of the settings', () => {
  const settings = (env: Record<string, string>, options = {}) =>
    examine({ checks: [settingsCheck], env, options });
  const HTTPS = { PUBLIC_URL: 'https://mdm.example.com' };

  it('finds nothing in the defaults', async () => {
    expect(brief(await settings({}))).toEqual(['ok settings']);
  });

  it.each([
    ['a name that is misspelt', { CORS_ORIGIN: 'https://a.example' }, 'warning setting_unknown'],
    ['port 0', { PUBLIC_URL: 'http://localhost:0' }, 'error public_url_port_0'],
    ['TLS=off without TRUST_PROXY', { ...HTTPS, TLS: 'off' }, 'warning trust_proxy_empty'],
    [
      'client certificates over plain HTTP',
      { TLS_CLIENT_CERT: 'on' },
      'warning tls_client_cert_without_tls',
    ],
    [
      'a database elsewhere without TLS',
      { DATABASE_URL: 'postgresql://m:x@db.example.com/muster' },
      'warning database_without_tls',
    ],
  ])('reports %s', async (_what, env, expected) => {
    const findings = await settings(env);
    expect(brief(findings)).toEqual([expected]);
    expect(JSON.stringify(findings)).not.toContain('m:x');
  });

  it.each([
    ['TLS=off with TRUST_PROXY', { ...HTTPS, TLS: 'off', TRUST_PROXY: '10.0.0.1' }],
    ['a database here', { DATABASE_URL: 'postgresql://m:x@127.0.0.1/muster' }],
    ['a socket', { DATABASE_URL: 'postgresql://m:x@localhost/muster?host=/run/postgresql' }],
    ['a container beside', { DATABASE_URL: 'postgresql://m:x@database/muster' }],
    ['TLS', { DATABASE_URL: 'postgresql://m:x@db.example.com/muster?sslmode=verify-full' }],
  ])('accepts %s', async (_what, env) => {
    expect(brief(await settings(env))).toEqual(['ok settings']);
  });

  it('reports files of settings that cannot be read', async () => {
    const options = { fileProblems: ['APNS_CA_FILE: holds no certificate'] };
    expect(await settings({}, options)).toMatchObject([
      { code: 'configuration_invalid', what: 'APNS_CA_FILE: holds no certificate.' },
    ]);
  });
});

describe('the doctor of the push service', () => {
  const checks = [pushServiceCheck];

  it('reports a push service that cannot be reached or is not APNs', async () => {
    const away = { APNS_HOST: `https://127.0.0.1:${await freePort()}` };
    expect(brief(await examine({ checks, env: away }))).toEqual(['error apns_unreachable']);
    const pki = new PrivatePki();
    const { key, cert } = pki.leaf();
    const port = await listenWith(undefined, { key, cert, ALPNProtocols: ['h2'] });
    const env = { APNS_HOST: `https://localhost:${port}` };
    expect(brief(await examine({ checks, env }))).toEqual(['error apns_not_trusted']);
    const options = { apnsCa: pki.root.toString() };
    pki.remove();
    expect(brief(await examine({ checks, env, options }))).toEqual(['ok push_service']);
  });

  it('contacts no push service while the stand-in of the lab replaces it', async () => {
    const options = { isLabOn: true };
    expect(brief(await examine({ checks, options }))).toEqual(['ok push_service']);
  });
});
