import type { SecretBox } from '../crypto/secrets/secret-box.js';
import type { TokenUpdateMessage } from '../protocol/mdm/mdm-messages.js';

/** Where to push, as stored: JSON {token: hex, push_magic}, sealed under `identity`. */
export function sealPush(box: SecretBox, identity: string, message: TokenUpdateMessage): Buffer {
  const { token, pushMagic } = message;
  const json = JSON.stringify({ token: token.toString('hex'), push_magic: pushMagic });
  return box.seal(Buffer.from(json, 'utf8'), identity);
}
