import type { IncomingMessage } from 'node:http';
import { type VerifiedSignedData, verifySignedData } from '../crypto/cms/cms-signed-data.js';
import type { ParsedCertificate } from '../crypto/x509/certificate.js';
import { AppError } from '../errors.js';
import type { BodyReader } from '../http/bodies/body-reader.js';
import { type MachineInfo, readMachineInfo } from '../protocol/mdm/machine-info.js';

/** Some kilobytes with the certificates of Apple's chain. */
const MAX_BODY = 64 * 1024;
const MAX_CONTENT = 16 * 1024;

/** What a device sent and signed; who signed is not judged yet. */
export interface SignedDeviceInfo {
  info: MachineInfo;
  signer: ParsedCertificate;
  /** The other certificates in the message. */
  chain: ParsedCertificate[];
}

/** One text for whatever is wrong with the signature; the cause is for the log. */
function refused(cause: unknown): AppError {
  return new AppError('invalid_signature', 400, 'the signature of the device is not valid', {
    cause,
  });
}

function verify(der: Buffer): VerifiedSignedData {
  try {
    return verifySignedData({ der });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw refused(error);
  }
}

/**
 * Reads the CMS SignedData (DER or BER, content inside) that a device posts to enroll: one signer, a
 * property list. The signature is verified over the raw content before that is parsed. AppError 400
 * or 413.
 */
export async function readSignedDeviceInfo(
  req: IncomingMessage,
  { bodies }: { bodies: BodyReader },
): Promise<SignedDeviceInfo> {
  return openSignedDeviceInfo(await bodies.read(req, MAX_BODY));
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
