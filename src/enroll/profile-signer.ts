import { type BuildSignedDataOptions, buildSignedData } from '../crypto/cms/cms-signed-data.js';

/** Signs what devices install. */
export interface ProfileSigner {
  /** CMS SignedData around the profile, certificates of the chain included. */
  sign(profile: Buffer): Buffer;
}

export function createProfileSigner(
  signer: BuildSignedDataOptions['signer'],
  chain: BuildSignedDataOptions['certificates'] = [],
): ProfileSigner {
  return { sign: (content) => buildSignedData({ content, signer, certificates: chain }) };
}
