import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { type Config, ConfigError } from './config.js';
import { type ParsedCertificate, parseCertificates } from './crypto/certificate.js';

/** Runs each part; what they throw becomes one ConfigError that names the settings. */
class Reading {
  private readonly problems: string[] = [];

  attempt<T>(name: string, work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      this.problems.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
      return undefined;
    }
  }

  finish(): void {
    if (this.problems.length > 0) throw new ConfigError(this.problems);
  }
}

/** Throws ConfigError that tells what is wrong with the files. */
export function readTls({ tls }: Config): { cert: Buffer; key: Buffer } | undefined {
  if (tls === undefined) return undefined;
  const reading = new Reading();
  const cert = reading.attempt('TLS_CERT_FILE', () => readFileSync(tls.certFile));
  const key = reading.attempt('TLS_KEY_FILE', () => readFileSync(tls.keyFile));
  reading.finish();
  if (cert === undefined || key === undefined) return undefined;
  reading.attempt('TLS_CERT_FILE, TLS_KEY_FILE', () => createSecureContext({ cert, key }));
  reading.finish();
  return { cert, key };
}

/** PEM of APNS_CA_FILE. Throws ConfigError that tells what is wrong with the file. */
export function readApnsCa({ apnsCaFile }: Config): string | undefined {
  if (apnsCaFile === undefined) return undefined;
  const reading = new Reading();
  const pem = reading.attempt('APNS_CA_FILE', () => {
    const text = readFileSync(apnsCaFile, 'utf8');
    if (!text.includes('-----BEGIN CERTIFICATE-----')) throw new Error('holds no certificate');
    createSecureContext({ ca: text });
    return text;
  });
  reading.finish();
  return pem;
}

/** The CAs in DEVICE_CA_FILE: PEM, or one in DER. Throws ConfigError that tells what is wrong. */
export function readDeviceCas({ deviceCaFile }: Config): ParsedCertificate[] {
  if (deviceCaFile === undefined) return [];
  const reading = new Reading();
  const authorities = reading.attempt('DEVICE_CA_FILE', () => {
    const found = parseCertificates(readFileSync(deviceCaFile));
    const other = found.find(({ isCa }) => !isCa);
    if (other !== undefined) throw new Error(`${other.subject || 'a certificate'} is not of a CA`);
    return found;
  });
  reading.finish();
  return authorities ?? [];
}
