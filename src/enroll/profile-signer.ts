import type { Signer } from '../crypto/cms-signed-data.js';
import { buildSignedData } from '../crypto/cms-signed-data.js';

/** Signs what devices install; absent while the server has no certificate of its own. */
export interface ProfileSigner {
  sign(profile: Buffer): Buffer;
}

export function createProfileSigner(signer: Signer): ProfileSigner {
  return { sign: (profile) => buildSignedData({ content: profile, ...signer }) };
}
