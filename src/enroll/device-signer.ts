import { AppError } from '../errors.js';
import type { MachineInfo } from '../protocol/mdm/machine-info.js';
import type { EnrollServices } from './services.js';
import type { SignedDeviceInfo } from './signed-device-info.js';

/** Of what a stranger wrote into a certificate. */
const MAX_NAME_CHARS = 200;

/** The refusal of whoever signed with what no device CA stands behind; the log is told more. */
export function unknownSigner({ signer }: SignedDeviceInfo, reason: string): AppError {
  const issuer = signer.issuer.slice(0, MAX_NAME_CHARS);
  return new AppError('forbidden', 403, 'the signature is not that of an Apple device', {
    cause: new Error(`${reason}; issuer of the signer: ${issuer}`),
  });
}

/**
 * Only who holds a certificate that Apple gave the device may speak for its UDID and serial number; one
 * of our own CA would let one device pose as another. AppError 403.
 */
export function requireDeviceSigner(
  signed: SignedDeviceInfo,
  { deviceCas }: Pick<EnrollServices, 'deviceCas'>,
): void {
  if (deviceCas.judge(signed.signer, signed.chain).ok) return;
  throw unknownSigner(signed, 'no device CA stands behind the signer');
}

/** Any Profile Service, wherever it is, gets its challenge back signed, and could pass it on. */
export function refuseAnswer({ challenge }: MachineInfo): void {
  if (challenge === undefined) return;
  throw new AppError('forbidden', 403, 'what the device signed is the answer to a challenge');
}
