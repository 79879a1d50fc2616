import { z } from 'zod';
import type { SecretBox } from '../crypto/secrets/secret-box.js';

/** Where a device, or a user, is pushed: both are secrets. */
export interface PushToken {
  /** Hexadecimal. */
  token: string;
  pushMagic: string;
}

const STORED = z.object({ token: z.string().regex(/^([0-9a-f]{2})+$/i), push_magic: z.string() });

/** What TokenUpdate left behind; throws when it does not open or is nothing of the kind. */
export function openPushToken(
  box: SecretBox,
  { sealedPush, identity }: { sealedPush: Buffer; identity: string },
): PushToken {
  const plain = box.open(sealedPush, identity).toString('utf8');
  const { token, push_magic: pushMagic } = STORED.parse(JSON.parse(plain));
  return { token, pushMagic };
}
