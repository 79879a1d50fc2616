import { randomUUID } from 'node:crypto';
import { importPrivateKey } from '../crypto/keys/keys.js';
import { signJwt } from '../crypto/secrets/jwt.js';
import { findTokenAccount, type TokenAccount } from '../db/enroll/token-account-repository.js';
import { AppError } from '../errors.js';
import { privateKeyLabel } from '../pki/master-key/master-key.js';
import type { GetTokenMessage } from '../protocol/mdm/mdm-messages.js';
import { buildPlist } from '../protocol/plist/plist.js';
import type { Answer } from './answer.js';
import type { MdmServices } from './services.js';

/** With its token Apple checks that a Managed Apple Account and this server have one organization. */
const MANAGED_ACCOUNT = 'com.apple.maid';

/**
 * Answers GetToken of a device or of one of its users. An unknown service is answered 400, as Apple
 * documents it; a known one without the data for a token 404.
 */
export async function answerGetToken(
  { tokenServiceType }: GetTokenMessage,
  deviceId: number,
  services: MdmServices,
): Promise<Answer> {
  if (tokenServiceType !== MANAGED_ACCOUNT) {
    const what = tokenServiceType ?? 'none';
    throw new AppError('invalid_message', 400, `tokens of the service ${what} are not offered`);
  }
  const account = await findTokenAccount(services.db, deviceId);
  if (account === undefined) {
    const message = 'GetToken: the device belongs to no DEP account';
    throw new AppError('not_found', 404, message);
  }
  const token = await managedAccountToken(account, services);
  services.logger.info({ deviceId, depAccountId: account.id }, 'token sent');
  return { kind: 'plist', body: buildPlist({ TokenData: Buffer.from(token, 'ascii') }) };
}

/** Signed by the key of the certificate that was uploaded to Apple for this server. */
async function managedAccountToken(
  { id, server_uuid: iss, sealed_pkcs8, fingerprint_sha256 }: TokenAccount,
  { box }: Pick<MdmServices, 'box'>,
): Promise<string> {
  const missing = (what: string) =>
    new AppError('not_found', 404, `GetToken: dep_accounts ${id} has no ${what}`);
  if (iss === null) throw missing('server_uuid');
  if (sealed_pkcs8 === null || fingerprint_sha256 === null) {
    throw missing('token_certificate with a private key');
  }
  const key = importPrivateKey(box.open(sealed_pkcs8, privateKeyLabel(fingerprint_sha256)));
  if (key.asymmetricKeyType !== 'rsa') throw missing('token_certificate with an RSA key');
  const iat = Math.floor(Date.now() / 1000);
  return signJwt({ iss, iat, jti: randomUUID(), service_type: MANAGED_ACCOUNT }, key);
}
