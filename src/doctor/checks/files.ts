import { type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config/config.js';
import { masterKeyFiles } from '../../pki/master-key/master-key-file.js';
import type { Check } from '../check.js';
import { error, type Found, ok, warning } from '../finding.js';

/** Bits of a mode: group and others may write; may do anything. */
const OTHERS_WRITE = 0o022;
const OTHERS = 0o077;

/** Who else on this machine may read the secrets, or replace the files. */
export const filesCheck: Check = {
  name: 'files',
  needs: 'nothing',
  run: ({ config }) => {
    // Windows has no such modes.
    if (process.platform === 'win32') return [];
    const faults = [...directoryFaults(config), ...secretFiles(config).flatMap(secretFaults)];
    if (faults.length > 0) return faults;
    if (find(config.dataDir) === undefined) {
      const what = `DATA_DIR (${config.dataDir}) does not exist, and these settings do not need it.`;
      return [ok('files', what)];
    }
    return [ok('files', `Only their owner can read the secrets in ${config.dataDir}.`)];
  },
};

function directoryFaults({ dataDir, databaseUrl, masterKey, adminToken }: Config): Found[] {
  const stats = find(dataDir);
  if (stats === undefined) {
    if ([databaseUrl, masterKey, adminToken].every((setting) => setting !== undefined)) return [];
    const what = `DATA_DIR (${dataDir}) does not exist.`;
    const why = 'It holds the master key, the first admin token and the embedded database.';
    const cure =
      'Set DATA_DIR to the directory of this server. The first start of muster serve makes it.';
    return [warning('data_dir_missing', { what, why, cure })];
  }
  if ((stats.mode & OTHERS_WRITE) === 0) return [];
  const what = `Others can write to DATA_DIR (${dataDir}, mode ${octal(stats)}).`;
  const why = 'They can replace the master key and the database.';
  return [error('data_dir_writable', { what, why, cure: `chmod go-w ${dataDir}` })];
}

interface SecretFile {
  code: string;
  path: string;
  what: string;
  why: string;
}

function secretFiles({ dataDir, tls }: Config): SecretFile[] {
  const { current, next } = masterKeyFiles(dataDir);
  const opens = 'Anyone who has it opens every secret in the database.';
  const files = [
    { code: 'master_key_readable', path: current, what: 'the master key', why: opens },
    { code: 'master_key_readable', path: next, what: 'the next master key', why: opens },
    {
      code: 'admin_token_readable',
      path: join(dataDir, 'admin-token'),
      what: 'the first admin token',
      why: 'Anyone who has it may erase every device.',
    },
  ];
  if (tls === undefined) return files;
  const why = 'Anyone who has it can pose as this server.';
  return [
    ...files,
    { code: 'tls_key_readable', path: tls.keyFile, what: 'the key of TLS_KEY_FILE', why },
  ];
}

function secretFaults({ code, path, what, why }: SecretFile): Found[] {
  const stats = find(path);
  if (stats === undefined || (stats.mode & OTHERS) === 0) return [];
  const said = `Others on this machine can read ${what} (${path}, mode ${octal(stats)}).`;
  return [error(code, { what: said, why, cure: `chmod 600 ${path}` })];
}

function find(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false });
}

function octal({ mode }: Stats): string {
  return (mode & 0o777).toString(8).padStart(3, '0');
}
