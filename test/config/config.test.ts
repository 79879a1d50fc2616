import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { ConfigError, ENVIRONMENT, loadConfig, withHttps } from '../../src/config/config.js';
import { removeTemporaryDirectories, temporaryDirectory } from '../helpers/temporary-directory.js';

const KEY = Buffer.alloc(32, 7).toString('base64');

const BAD_ORIGIN =
  'must be origins as browsers write them (https://console.example.com), with commas';

let cwd: string;

beforeAll(() => {
  cwd = temporaryDirectory();
});
afterAll(removeTemporaryDirectories);

function problems(environment: Record<string, string>, directory = cwd): string[] {
  try {
    loadConfig(environment, directory);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

describe('a bad environment', () => {
  it.each<[string, string, string]>([
    ['PORT', '80a', 'must be a number from 0 to 65535'],
    ['PORT', '65536', 'must be a number from 0 to 65535'],
    ['PORT', '-1', 'must be a number from 0 to 65535'],
    ['HOST', 'two words', 'must be an address or a host name'],
    ['PUBLIC_URL', 'localhost:8080', 'must be an http or https URL without user and query'],
    ['PUBLIC_URL', 'https://me@mdm.test', 'must be an http or https URL without user and query'],
    ['PUBLIC_URL', 'https://mdm.test/?a=1', 'must be an http or https URL without user and query'],
    ['PUBLIC_URL', 'https://mdm.test/?', 'must be an http or https URL without user and query'],
    ['DATABASE_URL', 'mysql://localhost/muster', 'must be a postgresql:// URL'],
    ...['TRUE', '1', '', 'true&pgbouncer=true'].map((value): [string, string, string] => [
      'DATABASE_URL',
      `postgresql://muster@db/muster?pgbouncer=${value}`,
      'pgbouncer must be true, or be left out where no pooler is before PostgreSQL',
    ]),
    ['ADMIN_TOKEN', 'short', 'must have 16 characters or more, ASCII without spaces'],
    [
      'ADMIN_TOKEN',
      'has a space in its middle',
      'must have 16 characters or more, ASCII without spaces',
    ],
    ['MASTER_KEY', 'c2hvcnQ=', 'must be 32 bytes in base64 (openssl rand -base64 32)'],
    ['TRUST_PROXY', '10.0.0.0/33', 'must be IP addresses or networks (10.0.0.0/8), with commas'],
    ['TRUST_PROXY', '::1, proxy', 'must be IP addresses or networks (10.0.0.0/8), with commas'],
    ['TRUST_PROXY', '10.0.0.0/8/8', 'must be IP addresses or networks (10.0.0.0/8), with commas'],
    ['ENROLLMENT', 'maybe', 'must be one of open, link, closed'],
    ['KEEP_RESULTS', 'yes', 'must be on or off'],
    ['KEY_EXPORT', 'yes', 'must be on or off'],
    ...[
      '*',
      'a.test',
      'https://a.test/',
      'https://a.test:443',
      'ftp://a.test',
      'HTTP://a.test',
    ].map((value): [string, string, string] => ['CORS_ORIGINS', value, BAD_ORIGIN]),
    ['ROLE', 'queen', 'must be one of all, web, worker'],
    ...['0', '65', '2.5', '-1', 'many'].map((value): [string, string, string] => [
      'WORKERS',
      value,
      'must be a number from 1 to 64, or auto',
    ]),
    ['IDENTITY_CACHE', '999', 'must be a number from 1000 to 9999999'],
    ...[
      'api.push.apple.com',
      'http://push.example.com',
      'https://push.example.com/path',
      'https://me@push.example.com',
    ].map((value): [string, string, string] => [
      'APNS_HOST',
      value,
      'must be like https://host:port (http only to this machine)',
    ]),
    ['LAB', 'yes', 'must be on or off'],
    ...['never', '5m', '24', '0h', '1w'].map((value): [string, string, string] => [
      'INVENTORY_INTERVAL',
      value,
      'must be off, or a time from 10m to 9999d, like 12h or 7d',
    ]),
    [
      'DEP_HOST',
      'http://dep.example.com',
      'must be like https://host:port (http only to this machine)',
    ],
    ['DEP_SYNC_INTERVAL', '0m', 'must be off, or a time from 1m to 9999d, like 15m or 2h'],
    ['DEP_SYNC_INTERVAL', '59s', 'must be off, or a time from 1m to 9999d, like 15m or 2h'],
    ['REPLACE_ENROLLED', 'deny', 'must be one of allow, hold'],
    ['ADE_ONLY_KNOWN', 'auto', 'must be on or off'],
    ['ACCOUNT_ENROLLMENT', 'on', 'must be one of off, byod, adde'],
    ['USER_AUTHENTICATE', 'off', 'must be one of refuse, empty-digest'],
    ['AUDIT_RETENTION', '7d', 'must be off, or a time from 30d to 9999d, like 90d or 365d'],
    ['SETUP_TIMEOUT', 'off', 'must be a time like 15m or 2h'],
    ['COMMAND_RETENTION', '1s', 'must be off, or a time from 1d to 9999d, like 90d or 365d'],
    ['CHANGE_RETENTION', '23h', 'must be off, or a time from 1d to 9999d, like 90d or 365d'],
    ['INVENTORY_INTERVAL', '9999999d', 'must be off, or a time from 10m to 9999d, like 12h or 7d'],
    ['SILENT_AFTER', '7', 'must be off, or a time from 1s to 9999d, like 12h or 7d'],
    ['BUSY_AFTER', '0d', 'must be off, or a time from 1s to 9999d, like 12h or 7d'],
    ['INVENTORY_STALE_AFTER', 'never', 'must be off, or a time from 1s to 9999d, like 12h or 7d'],
    ...['off', '4m', '91d', '8'].map((value): [string, string, string] => [
      'SESSION_IDLE',
      value,
      'must be a time from 5 minutes to 90 days, like 30m, 8h or 7d',
    ]),
    ['SESSION_MAX', 'never', 'must be a time from 5 minutes to 90 days, like 30m, 8h or 7d'],
    ['BACKUP_KEEP', '0', 'must be a number from 1 to 9999'],
    ['BACKUP_PASSPHRASE', 'eleven char', 'must have 12 characters or more'],
    ['LOG_LEVEL', 'loud', 'must be one of trace, debug, info, warn, error, fatal, silent'],
  ])('is refused: %s=%s', (name, value, problem) => {
    expect(problems({ [name]: value })).toEqual([`${name}: ${problem}`]);
  });

  it.each([
    ['DATA_DIR', '/proc/x'],
    ['DATA_DIR', '/proc'],
    ['DATA_DIR', '/sys/../proc/1'],
    ['BACKUP_DIR', '/proc/x'],
  ])('is refused: %s=%s, where no directory can be made', (name, directory) => {
    expect(problems({ [name]: directory })).toEqual([
      `${name}: ${directory} is in a file system of the kernel; name a directory on a disk`,
    ]);
  });

  it.each(['web', 'worker'])('is refused: ROLE=%s without a database to share', (role) => {
    expect(problems({ ROLE: role })).toEqual([
      `ROLE: ${role} needs DATABASE_URL (processes of one server share a database)`,
    ]);
  });

  it('is refused: WORKERS where nothing is served', () => {
    const DATABASE_URL = 'postgresql://muster@db/muster';
    expect(problems({ ROLE: 'worker', WORKERS: '2', DATABASE_URL })).toEqual([
      'WORKERS: must not be set with ROLE=worker, which answers no devices',
    ]);
    expect(problems({ ROLE: 'worker', WORKERS: '1', DATABASE_URL })).toEqual([]);
  });

  it('is refused: backups by the clock without a directory for them', () => {
    expect(problems({ BACKUP_EVERY: '1d' })).toEqual([
      'BACKUP_DIR: must be set too (the directory that BACKUP_EVERY writes to)',
    ]);
    expect(problems({ BACKUP_EVERY: 'off' })).toEqual([]);
    expect(problems({ BACKUP_EVERY: '30s', BACKUP_DIR: 'x' })).toEqual([
      'BACKUP_EVERY: must be off, or a time from 1m to 9999d, like 6h or 1d',
    ]);
  });

  it('takes as many workers as there are cores', () => {
    expect(loadConfig({ WORKERS: 'auto' }, cwd).workers).toBe(availableParallelism());
  });

  it('is refused: a lab that others could reach, or with a ROLE', () => {
    const DATABASE_URL = 'postgresql://u:p@db:5432/muster';
    const lab = { LAB: 'on', PUBLIC_URL: 'https://mdm.example.com', ROLE: 'web', DATABASE_URL };
    const DEP_HOST = 'https://localhost:2198';
    expect(problems({ ...lab, APNS_HOST: 'https://localhost:2197', DEP_HOST })).toEqual([
      'LAB: on works only with a PUBLIC_URL on this machine, like http://localhost:8080',
      'APNS_HOST: must not be set with LAB=on, which brings its own',
      'DEP_HOST: must not be set with LAB=on, which brings its own',
      'LAB: on works only with ROLE=all',
    ]);
    expect(problems({ LAB: 'on', PUBLIC_URL: 'http://127.0.0.1.example.com' })).toHaveLength(1);
    expect(problems({ LAB: 'on', PUBLIC_URL: 'http://[::1]:8080' })).toEqual([]);
  });

  it('is refused: an incomplete OIDC configuration, or a provider without TLS', () => {
    expect(problems({ OIDC_ISSUER: 'https://login.example.com' })).toEqual(
      ['OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET'].map(
        (name) =>
          `${name}: must be set too (OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET belong together)`,
      ),
    );
    const client = { OIDC_CLIENT_ID: 'muster', OIDC_CLIENT_SECRET: 'secret' };
    expect(problems({ ...client, OIDC_ISSUER: 'http://login.example.com' })).toEqual([
      'OIDC_ISSUER: must be an https URL without user and query (http only to this machine)',
    ]);
    expect(problems({ ...client, OIDC_ISSUER: 'http://localhost:9000' })).toEqual([]);
  });

  it('is refused with every problem at once and without the values', () => {
    const found = problems({
      PORT: 'x',
      ADMIN_TOKEN: 'hunter2',
      LOG_LEVEL: 'loud',
      TLS_KEY_FILE: 'k',
    });
    expect(found).toEqual([
      'PORT: must be a number from 0 to 65535',
      'ADMIN_TOKEN: must have 16 characters or more, ASCII without spaces',
      'LOG_LEVEL: must be one of trace, debug, info, warn, error, fatal, silent',
      'TLS_CERT_FILE: must be set too (TLS_CERT_FILE and TLS_KEY_FILE belong together)',
    ]);
    expect(new ConfigError(found).message).not.toContain('hunter2');
  });
});

describe('an empty environment', () => {
  it('results in the defaults, frozen', () => {
    const config = loadConfig({}, cwd);
    expect(config).toEqual({
      port: 8080,
      host: '127.0.0.1',
      publicUrl: 'http://localhost:8080',
      databaseUrl: undefined,
      dataDir: join(cwd, 'data'),
      adminToken: undefined,
      masterKey: undefined,
      tls: undefined,
      storedTls: true,
      tlsClientCert: false,
      trustProxy: [],
      clientCertHeader: undefined,
      deviceCaFile: undefined,
      identityGrace: 90 * 86_400_000,
      enrollment: 'open',
      replaceEnrolled: 'allow',
      adeOnlyKnown: undefined,
      accountEnrollment: 'byod',
      oidc: undefined,
      userAuthenticate: 'refuse',
      setupTimeout: 15 * 60_000,
      silentAfter: 7 * 86_400_000,
      busyAfter: 3 * 86_400_000,
      inventoryStaleAfter: 14 * 86_400_000,
      changeRetention: 180 * 86_400_000,
      commandRetention: 90 * 86_400_000,
      auditRetention: undefined,
      sessionIdle: 8 * 3_600_000,
      sessionMax: 7 * 86_400_000,
      backupDir: undefined,
      backupEvery: undefined,
      backupKeep: 7,
      backupPassphrase: undefined,
      keepResults: false,
      keyExport: true,
      corsOrigins: [],
      role: 'all',
      workers: 1,
      identityCache: 100_000,
      apnsHost: 'https://api.push.apple.com',
      apnsCaFile: undefined,
      depHost: 'https://mdmenrollment.apple.com',
      depCaFile: undefined,
      depSyncInterval: 900_000,
      lab: false,
      inventoryInterval: 86_400_000,
      confirmAbove: 500,
      confirmRemovals: 20,
      credentialsPerMinute: 300,
      logLevel: 'info',
      unknownSettings: [],
    });
    const parts = [config, config.trustProxy, config.corsOrigins];
    expect(parts.map(Object.isFrozen)).toEqual([true, true, true]);
  });

  it('is the same as one of empty values and unknown names', () => {
    const empty = { PORT: '', PUBLIC_URL: ' ', MASTER_KEY: '', MUSTER_UNKNOWN: 'x' };
    expect(loadConfig(empty, cwd)).toEqual(loadConfig({}, cwd));
  });
});

describe('a good environment', () => {
  it('is read in full', () => {
    const config = loadConfig(
      {
        PORT: '0',
        HOST: '::',
        PUBLIC_URL: 'https://mdm.example.com/base/',
        DATABASE_URL: 'postgresql://u:p@db:5432/muster',
        DATA_DIR: '/var/muster',
        ADMIN_TOKEN: '0123456789abcdef',
        MASTER_KEY: KEY,
        TLS_CERT_FILE: 'cert.pem',
        TLS_KEY_FILE: '/etc/key.pem',
        TLS: 'auto',
        TLS_CLIENT_CERT: 'on',
        TRUST_PROXY: '10.0.0.0/8, ::1,',
        CLIENT_CERT_HEADER: 'X-Client-Cert',
        DEVICE_CA_FILE: 'device-ca.pem',
        IDENTITY_GRACE: 'off',
        ENROLLMENT: 'link',
        REPLACE_ENROLLED: 'hold',
        ADE_ONLY_KNOWN: 'off',
        ACCOUNT_ENROLLMENT: 'adde',
        OIDC_ISSUER: 'https://login.example.com/realm',
        OIDC_CLIENT_ID: 'muster',
        OIDC_CLIENT_SECRET: 'secret',
        OIDC_ACCOUNT_CLAIM: 'upn',
        USER_AUTHENTICATE: 'empty-digest',
        SETUP_TIMEOUT: '2h',
        SILENT_AFTER: '30d',
        BUSY_AFTER: 'off',
        INVENTORY_STALE_AFTER: '20s',
        CHANGE_RETENTION: '400d',
        COMMAND_RETENTION: '30d',
        KEEP_RESULTS: 'on',
        AUDIT_RETENTION: '730d',
        SESSION_IDLE: '30m',
        SESSION_MAX: '1d',
        BACKUP_DIR: 'backups',
        BACKUP_EVERY: '1d',
        BACKUP_KEEP: '30',
        BACKUP_PASSPHRASE: 'correct horse battery',
        KEY_EXPORT: 'off',
        CORS_ORIGINS: 'https://a.test, http://localhost:5173',
        ROLE: 'web',
        WORKERS: '3',
        IDENTITY_CACHE: '250000',
        APNS_HOST: 'http://127.0.0.1:2197/',
        APNS_CA_FILE: 'apns.pem',
        DEP_HOST: 'http://localhost:2198',
        DEP_CA_FILE: 'dep.pem',
        DEP_SYNC_INTERVAL: 'off',
        LAB: 'off',
        INVENTORY_INTERVAL: '90m',
        CONFIRM_ABOVE: '900',
        CONFIRM_REMOVALS: '9',
        CREDENTIALS_PER_MINUTE: '60',
        LOG_LEVEL: 'debug',
      },
      cwd,
    );
    expect(config).toEqual({
      port: 0,
      host: '::',
      publicUrl: 'https://mdm.example.com/base',
      databaseUrl: 'postgresql://u:p@db:5432/muster',
      dataDir: '/var/muster',
      adminToken: '0123456789abcdef',
      masterKey: Buffer.alloc(32, 7),
      tls: { certFile: join(cwd, 'cert.pem'), keyFile: '/etc/key.pem' },
      storedTls: true,
      tlsClientCert: true,
      trustProxy: ['10.0.0.0/8', '::1'],
      clientCertHeader: 'x-client-cert',
      deviceCaFile: join(cwd, 'device-ca.pem'),
      identityGrace: 0,
      enrollment: 'link',
      replaceEnrolled: 'hold',
      adeOnlyKnown: false,
      accountEnrollment: 'adde',
      oidc: {
        issuer: 'https://login.example.com/realm',
        clientId: 'muster',
        clientSecret: 'secret',
        accountClaim: 'upn',
      },
      userAuthenticate: 'empty-digest',
      setupTimeout: 7_200_000,
      silentAfter: 2_592_000_000,
      busyAfter: undefined,
      inventoryStaleAfter: 20_000,
      changeRetention: 400 * 86_400_000,
      commandRetention: 30 * 86_400_000,
      keepResults: true,
      auditRetention: 730 * 86_400_000,
      sessionIdle: 30 * 60_000,
      sessionMax: 86_400_000,
      backupDir: join(cwd, 'backups'),
      backupEvery: 86_400_000,
      backupKeep: 30,
      backupPassphrase: 'correct horse battery',
      keyExport: false,
      corsOrigins: ['https://a.test', 'http://localhost:5173'],
      role: 'web',
      workers: 3,
      identityCache: 250_000,
      apnsHost: 'http://127.0.0.1:2197',
      apnsCaFile: join(cwd, 'apns.pem'),
      depHost: 'http://localhost:2198',
      depCaFile: join(cwd, 'dep.pem'),
      depSyncInterval: undefined,
      lab: false,
      inventoryInterval: 5_400_000,
      confirmAbove: 900,
      confirmRemovals: 9,
      credentialsPerMinute: 60,
      logLevel: 'debug',
      unknownSettings: [],
    });
  });

  it('has a PUBLIC_URL with its port by default, with https when it has a certificate', () => {
    expect(loadConfig({ PORT: '9000' }, cwd).publicUrl).toBe('http://localhost:9000');
    const tls = { TLS_CERT_FILE: 'c', TLS_KEY_FILE: 'k' };
    expect(loadConfig(tls, cwd).publicUrl).toBe('https://localhost:8080');
  });

  it('has a PUBLIC_URL with https when a certificate is stored, unless it is set', () => {
    const publicUrl = (env: Record<string, string>) => withHttps(loadConfig(env, cwd)).publicUrl;
    expect(publicUrl({ PORT: '9000' })).toBe('https://localhost:9000');
    expect(publicUrl({ PUBLIC_URL: 'http://localhost:8080' })).toBe('https://localhost:8080');
    for (const PUBLIC_URL of ['https://mdm.test', 'http://mdm.test', 'http://localhost:81']) {
      expect(publicUrl({ PUBLIC_URL })).toBe(PUBLIC_URL);
    }
  });
});

describe('the settings for TLS and client certificates', () => {
  it('must not contradict each other', () => {
    const files = { TLS_CERT_FILE: 'c', TLS_KEY_FILE: 'k' };
    expect(problems({ TLS: 'off', ...files })).toEqual(['TLS: off does not go with TLS_CERT_FILE']);
    expect(problems({ TLS: 'off', TLS_CLIENT_CERT: 'on' })).toEqual([
      'TLS_CLIENT_CERT: on does not go with TLS=off',
    ]);
    expect(problems({ CLIENT_CERT_HEADER: 'Client-Cert' })).toEqual([
      'CLIENT_CERT_HEADER: needs TRUST_PROXY (from others it would prove nothing)',
    ]);
  });

  it('allow a proxy alone', () => {
    const config = loadConfig({ TLS: 'off', TRUST_PROXY: '::1' }, cwd);
    expect([config.storedTls, config.tlsClientCert]).toEqual([false, false]);
  });
});

describe('the push service', () => {
  it.each([
    ['https://api.push.apple.com:443', 'https://api.push.apple.com'],
    ['https://api.push.apple.com:2197/', 'https://api.push.apple.com:2197'],
    ['http://localhost:80', 'http://localhost'],
  ])('may be %s', (value, host) => {
    expect(loadConfig({ APNS_HOST: value }, cwd).apnsHost).toBe(host);
  });
});

describe('the time between inventories', () => {
  it('is a day by default, the given value, or off', () => {
    const read = (value: string) =>
      loadConfig({ INVENTORY_INTERVAL: value }, cwd).inventoryInterval;
    expect(['', '10m', '7d', 'off'].map(read)).toEqual([
      86_400_000,
      600_000,
      604_800_000,
      undefined,
    ]);
  });
});

describe('a .env file', () => {
  it('is read, and the environment overrides it', () => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, '.env'), 'PORT=9000 # ours\nLOG_LEVEL="warn"\nHOST=0.0.0.0\n');
    const config = loadConfig({ HOST: '127.0.0.2' }, directory);
    expect([config.port, config.logLevel, config.host]).toEqual([9000, 'warn', '127.0.0.2']);
    expect(process.env.LOG_LEVEL).toBeUndefined();
    const unset = loadConfig({ HOST: '', LOG_LEVEL: ' ', PORT: undefined }, directory);
    expect([unset.port, unset.logLevel, unset.host]).toEqual([9000, 'info', '127.0.0.1']);
  });

  it('is refused for the same problems', () => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, '.env'), 'PORT=x\n');
    expect(problems({}, directory)).toEqual(['PORT: must be a number from 0 to 65535']);
  });
});

describe('a name that is no setting', () => {
  function unknown(dotEnv: string, environment: Record<string, string> = {}) {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, '.env'), dotEnv);
    const { unknownSettings } = loadConfig(environment, directory);
    return unknownSettings.map(({ name, nearest }) => [name, nearest]);
  }

  it('is found in a .env, with the setting that it may be meant for', () => {
    const dotEnv = 'PUBLIC_ULR=https://a.test\nENROLMENT=open\nMY_OWN=1\nPORT=9000\nEMPTY_NAME=\n';
    expect(unknown(dotEnv)).toEqual([
      ['ENROLMENT', 'ENROLLMENT'],
      ['MY_OWN', undefined],
      ['PUBLIC_ULR', 'PUBLIC_URL'],
    ]);
  });

  it('is not taken for a setting that it hardly resembles, or for one of several', () => {
    const names = ['FOO', 'TZ', 'DB', 'RETENTION', 'DATABASE', 'SESSIONS_MAX'];
    expect(unknown(names.map((name) => `${name}=1`).join('\n'))).toEqual([
      ['DATABASE', 'DATABASE_URL'],
      ['DB', undefined],
      ['FOO', undefined],
      ['RETENTION', undefined],
      ['SESSIONS_MAX', 'SESSION_MAX'],
      ['TZ', undefined],
    ]);
  });

  it('is found in the environment only if it looks like a setting', () => {
    const environment = { DATABSE_URL: 'x', LANG: 'C', HOME: '/root', PORTS: '1', MY_OWN: '1' };
    expect(unknown('', environment)).toEqual([['DATABSE_URL', 'DATABASE_URL']]);
    expect(unknown('', { DEP_HOSTS: '1', DATA_DI: '1' })).toEqual([
      ['DATA_DI', 'DATA_DIR'],
      ['DEP_HOSTS', 'DEP_HOST'],
    ]);
  });

  it('is not reported in the environment when another program uses such a name', () => {
    const names = ['DB_HOST', 'APP_HOST', 'API_HOST', 'CLIENT_ID', 'CLIENT_SECRET', 'CA_FILE'];
    const others = [...names, 'CERT_FILE', 'SSL_CERT_FILE', 'XDG_DATA_DIRS', 'HTTP_PROXY'];
    expect(unknown('', Object.fromEntries(others.map((name) => [name, 'x'])))).toEqual([]);
  });

  it('is not reported when docker compose or another command reads it', () => {
    const names = ['POSTGRES_PASSWORD', 'MUSTER_BIND', 'NEW_MASTER_KEY', 'COMPOSE_PROJECT_NAME'];
    expect(unknown(names.map((name) => `${name}=a`).join('\n'))).toEqual([]);
  });
});

describe('.env.example', () => {
  const text = readFileSync(join(__dirname, '..', '..', '.env.example'), 'utf8');

  it('documents every variable and no other', () => {
    const documented = new Set(Object.keys(parseEnv(text)));
    expect(documented).toEqual(new Set(Object.keys(ENVIRONMENT.shape)));
  });

  it('shows the defaults', () => {
    expect(loadConfig(parseEnv(text), cwd)).toEqual(loadConfig({}, cwd));
  });
});
