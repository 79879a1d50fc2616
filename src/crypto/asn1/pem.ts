import { AppError } from '../../errors.js';
import { decodeBase64 } from './base64.js';

const MAX_PEM_LENGTH = 4 * 1024 * 1024;
const block = /-----BEGIN ([A-Z0-9 ]{1,64})-----([^-]*)-----END \1-----/g;

export interface PemBlock {
  label: string;
  der: Buffer;
}

/**
 * All PEM blocks of a text (RFC 7468), in order; text around them is ignored.
 * Encrypted private keys in the old header form are refused.
 * @throws AppError `invalid_asn1` when there is none or one is malformed
 */
export function decodePem(text: string): PemBlock[] {
  if (text.length > MAX_PEM_LENGTH) throw invalidPem('too large');
  const blocks = [...text.matchAll(block)].map(([, label = '', body = '']) => ({
    label,
    der: decodeBody(body),
  }));
  if (blocks.length === 0) throw invalidPem('no block');
  return blocks;
}

/** The DER of the first block with the label. Throws `invalid_asn1` when there is none. */
export function decodePemBlock(text: string, label: string): Buffer {
  const found = decodePem(text).find((candidate) => candidate.label === label);
  if (found === undefined) throw invalidPem(`no ${label}`);
  return found.der;
}

/** Whether the bytes look like PEM rather than DER. */
export function isPem(bytes: Buffer): boolean {
  return bytes.includes('-----BEGIN ');
}

/** PEM text of one DER value, lines of 64 characters, newline at the end. */
export function encodePem(label: string, der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}

function invalidPem(why: string): AppError {
  return new AppError('invalid_asn1', 400, `malformed PEM: ${why}`);
}

function decodeBody(body: string): Buffer {
  const der = decodeBase64(body.replace(/\s+/g, ''));
  if (der === undefined || der.length === 0) throw invalidPem('bad base64');
  return der;
}
