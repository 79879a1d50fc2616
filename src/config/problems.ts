import { resolve } from 'node:path';
import { isLoopback, parseUrl } from './values.js';

// Contradictions between variables. Each message begins with the variable to change.

export const APPLE_PUSH_HOST = 'https://api.push.apple.com';
export const APPLE_DEP_HOST = 'https://mdmenrollment.apple.com';

/** All contradictions between variables that are valid by themselves. */
export function crossProblems(env: Record<string, string>): string[] {
  const checks = [
    directoryProblems,
    pairProblems,
    tlsProblems,
    oidcProblems,
    backupProblems,
    roleProblems,
    labProblems,
  ];
  return checks.flatMap((check) => check(env));
}

/** /proc and /sys cannot store files, and mkdir of Node.js retries there forever. */
function directoryProblems(env: Record<string, string>): string[] {
  return ['DATA_DIR', 'BACKUP_DIR'].flatMap((name) => {
    const directory = env[name];
    if (directory === undefined || !/^\/(proc|sys)(\/|$)/.test(resolve(directory))) return [];
    return [`${name}: ${directory} is in a file system of the kernel; name a directory on a disk`];
  });
}

/** With one of the two the server would silently run without TLS. */
function pairProblems(env: Record<string, string>): string[] {
  if ((env.TLS_CERT_FILE === undefined) === (env.TLS_KEY_FILE === undefined)) return [];
  const missing = env.TLS_CERT_FILE === undefined ? 'TLS_CERT_FILE' : 'TLS_KEY_FILE';
  return [`${missing}: must be set too (TLS_CERT_FILE and TLS_KEY_FILE belong together)`];
}

/** TLS=off means that a proxy handles TLS; certificate files mean the opposite. */
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

/** Signing in needs all of them. */
function oidcProblems(env: Record<string, string>): string[] {
  const names = ['OIDC_ISSUER', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET'];
  const missing = names.filter((name) => env[name] === undefined);
  if (missing.length === 0 || missing.length === names.length) return [];
  return missing.map((name) => `${name}: must be set too (${names.join(', ')} belong together)`);
}

/** Backups by the clock need a place. */
function backupProblems({ BACKUP_EVERY: every, BACKUP_DIR: directory }: Record<string, string>) {
  if (every === undefined || every === 'off' || directory !== undefined) return [];
  return ['BACKUP_DIR: must be set too (the directory that BACKUP_EVERY writes to)'];
}

/** Processes with separate roles need a database that all of them can reach. */
function roleProblems(env: Record<string, string>): string[] {
  const { ROLE: role = 'all', DATABASE_URL: url, WORKERS: workers = '1' } = env;
  if (role === 'worker' && workers !== '1') {
    return ['WORKERS: must not be set with ROLE=worker, which answers no devices'];
  }
  if (!['web', 'worker'].includes(role) || url !== undefined) return [];
  return [`ROLE: ${role} needs DATABASE_URL (processes of one server share a database)`];
}

/** The lab publishes keys and trusts its own devices: unsafe on a server that others can reach. */
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
  if ((env.DEP_HOST ?? APPLE_DEP_HOST) !== APPLE_DEP_HOST) {
    problems.push('DEP_HOST: must not be set with LAB=on, which brings its own');
  }
  if ((env.ROLE ?? 'all') !== 'all') problems.push('LAB: on works only with ROLE=all');
  return problems;
}
