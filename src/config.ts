import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { z } from 'zod';
import {
  databaseUrl,
  grace,
  headerName,
  interval,
  isLoopback,
  masterKey,
  networks,
  onOff,
  origins,
  parseUrl,
  port,
  serviceHost,
  url,
} from './config-values.js';

export { isLoopback };

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export const ENROLLMENT_POLICIES = ['open', 'link', 'closed'] as const;
export const ROLES = ['all', 'web', 'worker'] as const;

export const APPLE_PUSH_HOST = 'https://api.push.apple.com';

/** What the program runs with. Paths are absolute, `publicUrl` has no slash at its end. */
export interface Config {
  readonly port: number;
  readonly host: string;
  readonly publicUrl: string;
  /** undefined: the embedded PostgreSQL under `dataDir`. */
  readonly databaseUrl: string | undefined;
  readonly dataDir: string;
  /** undefined: the one made on the first start. */
  readonly adminToken: string | undefined;
  /** 32 bytes; undefined: the one made on the first start. */
  readonly masterKey: Buffer | undefined;
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
  /** False: plain HTTP, also where an ssl certificate is stored. */
  readonly storedTls: boolean;
  /** Ask for client certificates in the TLS handshake: devices may identify themselves by them. */
  readonly tlsClientCert: boolean;
  /** Addresses and networks in CIDR form. */
  readonly trustProxy: readonly string[];
  /** In lower case: the header in which a proxy of `trustProxy` passes the client's certificate. */
  readonly clientCertHeader: string | undefined;
  /** PEM file of further CAs of Apple devices, beside the one built in. */
  readonly deviceCaFile: string | undefined;
  /** Milliseconds for which an identity that has expired still serves its device. */
  readonly identityGrace: number;
  /** web serves the surfaces, worker does the background work, all does both. */
  readonly role: (typeof ROLES)[number];
  /** Origin of Apple's push service, or of a stand-in. */
  readonly apnsHost: string;
  /** PEM file of CAs to believe for `apnsHost`; undefined: those Node knows. */
  readonly apnsCaFile: string | undefined;
  /** Stand-ins for Apple's services in this process, for trying out. */
  readonly lab: boolean;
  /** Milliseconds between two inventories of a device; undefined: only when asked for. */
  readonly inventoryInterval: number | undefined;
  readonly enrollment: (typeof ENROLLMENT_POLICIES)[number];
  /** False: no private key leaves the server. */
  readonly keyExport: boolean;
  /** Origins of front ends on other hosts that may call the API from a browser. */
  readonly corsOrigins: readonly string[];
  readonly logLevel: (typeof LOG_LEVELS)[number];
}

/** Every problem found, one line each; the values, which may be secret, are not in them. */
export class ConfigError extends Error {
  constructor(readonly problems: string[]) {
    super(['The configuration is not usable:', ...problems.map((line) => `  ${line}`)].join('\n'));
    this.name = 'ConfigError';
  }
}

/** One member per variable; `.env.example` documents each. */
export const ENVIRONMENT = z.object({
  PORT: port.default(8080),
  HOST: z.string().regex(/^\S+$/, 'must be an address or a host name').default('127.0.0.1'),
  PUBLIC_URL: url.transform((text) => text.replace(/\/+$/, '')).optional(),
  DATABASE_URL: databaseUrl.optional(),
  DATA_DIR: z.string().default('./data'),
  ADMIN_TOKEN: z
    .string()
    .regex(/^[\x21-\x7e]{16,}$/, 'must have 16 characters or more, ASCII without spaces')
    .optional(),
  MASTER_KEY: masterKey.optional(),
  TLS_CERT_FILE: z.string().optional(),
  TLS_KEY_FILE: z.string().optional(),
  TLS: z.enum(['auto', 'off'], 'must be auto or off').default('auto'),
  TLS_CLIENT_CERT: onOff.default('off'),
  TRUST_PROXY: networks.default([]),
  CLIENT_CERT_HEADER: headerName.optional(),
  DEVICE_CA_FILE: z.string().optional(),
  IDENTITY_GRACE: grace,
  ENROLLMENT: z
    .enum(ENROLLMENT_POLICIES, `must be one of ${ENROLLMENT_POLICIES.join(', ')}`)
    .default('open'),
  KEY_EXPORT: onOff.default('on'),
  CORS_ORIGINS: origins.default([]),
  ROLE: z.enum(ROLES, `must be one of ${ROLES.join(', ')}`).default('all'),
  APNS_HOST: serviceHost.default(APPLE_PUSH_HOST),
  APNS_CA_FILE: z.string().optional(),
  LAB: onOff.default('off'),
  INVENTORY_INTERVAL: interval,
  LOG_LEVEL: z.enum(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(', ')}`).default('info'),
});

type Environment = z.infer<typeof ENVIRONMENT>;

/** The two name one pair; half of it would silently serve without TLS. */
function pairProblems(env: Record<string, string>): string[] {
  if ((env.TLS_CERT_FILE === undefined) === (env.TLS_KEY_FILE === undefined)) return [];
  const missing = env.TLS_CERT_FILE === undefined ? 'TLS_CERT_FILE' : 'TLS_KEY_FILE';
  return [`${missing}: must be set too (TLS_CERT_FILE and TLS_KEY_FILE belong together)`];
}

/** TLS=off says that a proxy does it; files for it say the opposite. */
function tlsProblems(env: Record<string, string>): string[] {
  const problems: string[] = [];
  if (env.TLS === 'off' && env.TLS_CERT_FILE !== undefined) {
    problems.push('TLS: off does not go with TLS_CERT_FILE');
  }
  if (env.TLS === 'off' && env.TLS_CLIENT_CERT === 'on') {
    problems.push('TLS_CLIENT_CERT: on does not go with TLS=off');
  }
  if (env.CLIENT_CERT_HEADER !== undefined && env.TRUST_PROXY === undefined) {
    problems.push('CLIENT_CERT_HEADER: needs TRUST_PROXY (from others it would prove nothing)');
  }
  return problems;
}

/** The parts of a large server meet in a database that all of them reach. */
function roleProblems({ ROLE: role = 'all', DATABASE_URL: url }: Record<string, string>): string[] {
  if (!['web', 'worker'].includes(role) || url !== undefined) return [];
  return [`ROLE: ${role} needs DATABASE_URL (processes of one server share a database)`];
}

/** The lab hands out keys and trusts whom it made: nothing for a server that others reach. */
function labProblems(env: Record<string, string>): string[] {
  if (env.LAB !== 'on') return [];
  const problems: string[] = [];
  const publicUrl = parseUrl(env.PUBLIC_URL ?? 'http://localhost');
  if (publicUrl && !isLoopback(publicUrl.hostname)) {
    problems.push(
      'LAB: on works only with a PUBLIC_URL on this machine, like http://localhost:8080',
    );
  }
  if ((env.APNS_HOST ?? APPLE_PUSH_HOST) !== APPLE_PUSH_HOST) {
    problems.push('APNS_HOST: must not be set with LAB=on, which brings its own');
  }
  if ((env.ROLE ?? 'all') !== 'all') problems.push('LAB: on works only with ROLE=all');
  return problems;
}

/** What devices are told unless PUBLIC_URL is set, once it is known that this server speaks TLS. */
export function withHttps(config: Config): Config {
  const ownUrl = `localhost:${config.port}`;
  if (config.publicUrl !== `http://${ownUrl}`) return config;
  return Object.freeze({ ...config, publicUrl: `https://${ownUrl}` });
}

function readDotEnv(cwd: string): Record<string, string | undefined> {
  try {
    return parseEnv(readFileSync(join(cwd, '.env'), 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw new ConfigError([`.env: cannot be read (${(error as Error).message})`]);
  }
}

/** An empty value is the same as none: `FOO=` in a file or a compose template unsets. */
function withoutEmpty(env: Record<string, string | undefined>): Record<string, string> {
  const entries = Object.entries(env).flatMap(([name, value]) => {
    const text = value?.trim() ?? '';
    return text === '' ? [] : [[name, text] as const];
  });
  return Object.fromEntries(entries);
}

function toConfig(env: Environment, cwd: string): Config {
  const { TLS_CERT_FILE: cert, TLS_KEY_FILE: key } = env;
  const tls =
    cert === undefined || key === undefined
      ? undefined
      : Object.freeze({ certFile: resolve(cwd, cert), keyFile: resolve(cwd, key) });
  const scheme = tls === undefined ? 'http' : 'https';
  return Object.freeze({
    port: env.PORT,
    host: env.HOST,
    publicUrl: env.PUBLIC_URL ?? `${scheme}://localhost:${env.PORT}`,
    databaseUrl: env.DATABASE_URL,
    dataDir: resolve(cwd, env.DATA_DIR),
    adminToken: env.ADMIN_TOKEN,
    masterKey: env.MASTER_KEY,
    tls,
    storedTls: env.TLS === 'auto',
    tlsClientCert: env.TLS_CLIENT_CERT === 'on',
    trustProxy: Object.freeze(env.TRUST_PROXY),
    clientCertHeader: env.CLIENT_CERT_HEADER,
    deviceCaFile: env.DEVICE_CA_FILE === undefined ? undefined : resolve(cwd, env.DEVICE_CA_FILE),
    identityGrace: env.IDENTITY_GRACE,
    enrollment: env.ENROLLMENT,
    keyExport: env.KEY_EXPORT === 'on',
    corsOrigins: Object.freeze(env.CORS_ORIGINS),
    role: env.ROLE,
    apnsHost: env.APNS_HOST,
    apnsCaFile: env.APNS_CA_FILE === undefined ? undefined : resolve(cwd, env.APNS_CA_FILE),
    lab: env.LAB === 'on',
    inventoryInterval: env.INVENTORY_INTERVAL,
    logLevel: env.LOG_LEVEL,
  });
}

/**
 * Reads the environment and the `.env` of `cwd`, which the environment overrides; variables that
 * are not Muster's are ignored. Throws ConfigError with all problems at once.
 */
export function loadConfig(
  environment: Record<string, string | undefined> = process.env,
  cwd: string = process.cwd(),
): Config {
  const env = { ...withoutEmpty(readDotEnv(cwd)), ...withoutEmpty(environment) };
  const parsed = ENVIRONMENT.safeParse(env);
  const issues = parsed.error?.issues ?? [];
  const problems = issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
  problems.push(...pairProblems(env), ...tlsProblems(env));
  problems.push(...roleProblems(env), ...labProblems(env));
  if (!parsed.success || problems.length > 0) throw new ConfigError(problems);
  return toConfig(parsed.data, cwd);
}
