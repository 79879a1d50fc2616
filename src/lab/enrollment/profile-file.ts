import { verifySignedData } from '../../crypto/cms/cms-signed-data.js';

export interface OpenedProfile {
  /** The property list inside. */
  plist: Buffer;
  /** DER, the signer's first; empty for a profile that is not signed. */
  signerCertificates: Buffer[];
}

const DER_SEQUENCE = 0x30;

/**
 * Takes a profile out of its signature, if it has one. Throws AppError when the signature does not
 * hold; who signed is shown to the user of a real device, not judged.
 */
export function openProfile(bytes: Buffer): OpenedProfile {
  if (bytes[0] !== DER_SEQUENCE) return { plist: bytes, signerCertificates: [] };
  const { content, signers, certificates } = verifySignedData({ der: bytes });
  const signer = signers[0].certificate;
  const others = certificates.filter(({ fingerprint }) => !fingerprint.equals(signer.fingerprint));
  return { plist: content, signerCertificates: [signer, ...others].map(({ der }) => der) };
}
