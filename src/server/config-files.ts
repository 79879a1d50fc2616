import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { requireBackupDirectory } from '../backup/server/backup-directory.js';
import { type Config, ConfigError } from '../config/config.js';
import { type ParsedCertificate, parseCertificates } from '../crypto/x509/certificate.js';
import type { ServerIdentity } from '../pki/tls/server-identity.js';
import { readTlsFiles, SettingFiles } from '../pki/tls/tls-files.js';

/** Throws ConfigError that says what is wrong with the files. */
export function readTls({ tls }: Config): ServerIdentity | undefined {
  return tls && readTlsFiles(tls);
}

/** PEM of the CAs in the file. Throws ConfigError that names the variable and says what is wrong. */
function readServiceCa(name: string, file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  const reading = new SettingFiles();
  const pem = reading.attempt(name, () => {
    const text = readFileSync(file, 'utf8');
    if (!text.includes('-----BEGIN CERTIFICATE-----')) throw new Error('holds no certificate');
    createSecureContext({ ca: text });
    return text;
  });
  reading.finish();
  return pem;
}

export function readApnsCa({ apnsCaFile }: Config): string | undefined {
  return readServiceCa('APNS_CA_FILE', apnsCaFile);
}

export function readDepCa({ depCaFile }: Config): string | undefined {
  return readServiceCa('DEP_CA_FILE', depCaFile);
}

/** The CAs in DEVICE_CA_FILE: PEM, or one in DER. Throws ConfigError that says what is wrong. */
export function readFactoryCas({ deviceCaFile }: Config): ParsedCertificate[] {
  if (deviceCaFile === undefined) return [];
  const reading = new SettingFiles();
  const authorities = reading.attempt('DEVICE_CA_FILE', () => {
    const found = parseCertificates(readFileSync(deviceCaFile));
    const other = found.find(({ isCa }) => !isCa);
    if (other !== undefined) throw new Error(`${other.subject || 'a certificate'} is not of a CA`);
    return found;
  });
  reading.finish();
  return authorities ?? [];
}

/** Throws ConfigError where this process makes backups and BACKUP_DIR cannot hold any. */
function checkBackupDirectory({ backupDir, role }: Config): void {
  // A process with ROLE=web makes no backups: it only requests them.
  if (backupDir === undefined || role === 'web') return;
  const reading = new SettingFiles();
  reading.attempt('BACKUP_DIR', () => requireBackupDirectory(backupDir));
  reading.finish();
}

function problemsOf(read: () => unknown): string[] {
  try {
    read();
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

/** Looks at all files and directories that settings name. Returns what is wrong with each. */
export function fileProblems(config: Config): string[] {
  return [readTls, readApnsCa, readDepCa, readFactoryCas, checkBackupDirectory].flatMap((check) =>
    problemsOf(() => check(config)),
  );
}

/** Throws ConfigError that says what is wrong with each. */
export function checkFiles(config: Config): void {
  const problems = fileProblems(config);
  if (problems.length > 0) throw new ConfigError(problems);
}
