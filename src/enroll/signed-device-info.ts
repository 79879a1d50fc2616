import type { IncomingMessage } from 'node:http';
import { type VerifiedSignedData, verifySignedData } from '../crypto/cms/cms-signed-data.js';
import type { ParsedCertificate } from '../crypto/x509/certificate.js';
import { AppError } from '../errors.js';
import type { BodyReader } from '../http/bodies/body-reader.js';
import {
  type IdentifiedMachine,
  type MachineInfo,
  readMachineInfo,
  requireIdentified,
} from '../protocol/mdm/machine-info.js';
import type { EnrollServices } from './services.js';

/** The certificates of Apple's chain take some kilobytes. */
const MAX_BODY = 64 * 1024;

const MAX_CONTENT = 16 * 1024;

/** What a device sent and signed; the trust in its signer is not checked yet. */
export interface SignedDeviceInfo {
  info: MachineInfo;
  signer: ParsedCertificate;
  /** The other certificates in the message. */
  chain: ParsedCertificate[];
}

/**
 * Reads the CMS SignedData (DER or BER, content included) that a device posts to enroll: one signer, a
 * property list. The signature is verified over the raw content before it is parsed. AppError 400 or
 * 413.
 */
export async function readSignedDeviceInfo(
  req: IncomingMessage,
  { bodies }: { bodies: BodyReader },
): Promise<SignedDeviceInfo> {
  return openSignedDeviceInfo(await bodies.read(req, MAX_BODY));
}

/**
 * Reads the device information that identifies a device: signed with the certificate that Apple
 * issued to the device, with its UDID and serial number, and no answer to a challenge. AppError 4xx.
 */
export async function readIdentifiedDevice(
  req: IncomingMessage,
  services: Pick<EnrollServices, 'bodies' | 'factoryCas'>,
): Promise<{ signed: SignedDeviceInfo; info: IdentifiedMachine }> {
  const signed = await readSignedDeviceInfo(req, services);
  requireDeviceSigner(signed, services);
  const info = requireIdentified(signed.info);
  refuseChallengeAnswer(info);
  return { signed, info };
}

export function openSignedDeviceInfo(der: Buffer): SignedDeviceInfo {
  const { signers, content, certificates } = verify(der);
  const [{ certificate: signer }, ...others] = signers;
  if (others.length > 0) throw refused(new Error('more than one signer'));
  if (content.length > MAX_CONTENT) {
    throw new AppError('payload_too_large', 413, 'the device information is too large');
  }
  const chain = certificates.filter(({ der }) => !der.equals(signer.der));
  return { info: readMachineInfo(content), signer, chain };
}

/** Logged characters of an untrusted certificate's issuer. */
const MAX_NAME_CHARS = 200;

/** The error for a signer that no device CA has issued; the cause is logged. */
export function unknownSigner({ signer }: SignedDeviceInfo, reason: string): AppError {
  const issuer = signer.issuer.slice(0, MAX_NAME_CHARS);
  return new AppError('forbidden', 403, 'the signature is not that of an Apple device', {
    cause: new Error(`${reason}; issuer of the signer: ${issuer}`),
  });
}

/**
 * UDID and serial number are accepted only if signed with the certificate that Apple issued to the
 * device: with one of our own CA a device could pose as another. AppError 403.
 */
export function requireDeviceSigner(
  signed: SignedDeviceInfo,
  { factoryCas }: Pick<EnrollServices, 'factoryCas'>,
): void {
  if (factoryCas.judge(signed.signer, signed.chain).ok) return;
  throw unknownSigner(signed, 'the signer was not issued by a device CA');
}

/** AppError 403 for a signed challenge: any other Profile Service could have relayed it to us. */
function refuseChallengeAnswer({ challenge }: MachineInfo): void {
  if (challenge === undefined) return;
  throw new AppError(
    'forbidden',
    403,
    'the device signed the answer to a challenge of a Profile Service',
  );
}

function verify(der: Buffer): VerifiedSignedData {
  try {
    return verifySignedData({ der });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw refused(error);
  }
}

/** One message for every invalid signature; the cause is logged. */
function refused(cause: unknown): AppError {
  return new AppError('invalid_signature', 400, 'the signature of the device is not valid', {
    cause,
  });
}
