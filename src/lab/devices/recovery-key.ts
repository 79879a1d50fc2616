import { sealEnvelope } from '../pki/scep-message.js';
import { type InstalledProfile, payloadsOf } from './profiles.js';
import type { Random } from './random.js';

const LETTERS = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const GROUPS = 6;
const GROUP_LETTERS = 4;
const ESCROW = 'com.apple.security.FDERecoveryKeyEscrow';

export interface RecoveryKey {
  text: string;
  /** As it is reported since the profile with this certificate was installed. */
  reported?: { certificate: Buffer; cms: Buffer } | undefined;
}

interface KeyHolder {
  profiles: InstalledProfile[];
  recoveryKey: RecoveryKey;
}

/** As FileVault makes them: six groups of four. */
export function newRecoveryKey(random: Random): string {
  const letter = () => LETTERS.charAt(random.integer(0, LETTERS.length - 1));
  const group = () => Array.from({ length: GROUP_LETTERS }, letter).join('');
  return Array.from({ length: GROUPS }, group).join('-');
}

/** The recovery key, encrypted as a profile asks for it; the same bytes until one of both changes. */
export function escrowedKey(device: KeyHolder): Buffer | undefined {
  const certificate = escrowCertificate(device);
  if (certificate === undefined) return undefined;
  const { recoveryKey } = device;
  if (recoveryKey.reported?.certificate.equals(certificate) !== true) {
    recoveryKey.reported = { certificate, cms: sealRecoveryKey(recoveryKey.text, certificate) };
  }
  return recoveryKey.reported.cms;
}

export function sealRecoveryKey(text: string, certificate: Buffer): Buffer {
  return sealEnvelope(Buffer.from(text), certificate, 'des-EDE3-CBC');
}

function escrowCertificate({ profiles }: KeyHolder): Buffer | undefined {
  for (const { content } of profiles) {
    const payloads = payloadsOf(content);
    const escrow = payloads.find(({ PayloadType }) => PayloadType === ESCROW);
    const named = payloads.find(
      ({ PayloadUUID }) => PayloadUUID === escrow?.EncryptCertPayloadUUID,
    );
    const der = escrow && named?.PayloadContent;
    if (Buffer.isBuffer(der)) return der;
  }
  return undefined;
}
