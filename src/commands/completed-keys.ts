import type { KeyDescription } from '../protocol/apple/command-schema.js';
import { pinFormat } from './secrets/command-secrets.js';

/** A key as requests may have it: Apple's, with what Muster does where it is left out. */
export interface RequestKey extends KeyDescription {
  when_left_out?: string | undefined;
}

const PIN = 'Muster makes six digits for a Mac that needs them, and stores them.';
const NEW_PASSWORD = 'Muster makes one and stores it.';
const CURRENT_PASSWORD = 'Muster sends the one that the Mac last confirmed.';
const RETURN_TO_SERVICE =
  'Muster sends the settings of /configuration/return_to_service where their applies_to_erase is true and the supervised device can enroll again.';
const PASSWORD_HASH = 'Muster derives it from the key password.';

/** What the server fills in, by the names that lead to the key. */
const WHEN_LEFT_OUT: Record<string, string> = {
  'DeviceLock.PIN': PIN,
  'EraseDevice.PIN': PIN,
  'EraseDevice.ReturnToService': RETURN_TO_SERVICE,
  'SetRecoveryLock.NewPassword': NEW_PASSWORD,
  'SetRecoveryLock.CurrentPassword': CURRENT_PASSWORD,
  'VerifyRecoveryLock.Password': `${CURRENT_PASSWORD} Required where none is known.`,
  'SetFirmwarePassword.NewPassword': NEW_PASSWORD,
  'SetFirmwarePassword.CurrentPassword': CURRENT_PASSWORD,
  'VerifyFirmwarePassword.Password': `${CURRENT_PASSWORD} Required where none is known.`,
  'SetAutoAdminPassword.passwordHash': PASSWORD_HASH,
  'SetAutoAdminPassword.password': `${NEW_PASSWORD} Not beside passwordHash.`,
  'AccountConfiguration.AutoSetupAdminAccounts.passwordHash': `${PASSWORD_HASH} Only of the first account.`,
  'AccountConfiguration.AutoSetupAdminAccounts.password': `${NEW_PASSWORD} Only of the first account, and not beside passwordHash.`,
  'RotateFileVaultKey.FileVaultUnlock':
    'For the KeyType personal Muster sends the present recovery key. Required for institutional.',
  'RotateFileVaultKey.ReplyEncryptionCertificate':
    'For the KeyType personal Muster sends the certificate of this server.',
};

/** Muster derives Apple's `passwordHash` from it. */
const PASSWORD: KeyDescription = {
  name: 'password',
  type: 'string',
  presence: 'optional',
  is_secret: true,
};

/** Apple's keys of the parameters of a command, with what Muster accepts beside them and what it fills in. */
export function requestKeys(requestType: string, keys: readonly KeyDescription[]): RequestKey[] {
  const completed = completeKeys(keys, requestType);
  const format = pinFormat(requestType);
  return completed.map((key) => (key.name === 'PIN' ? { ...key, format } : key));
}

function completeKeys(keys: readonly KeyDescription[], path: string): RequestKey[] {
  const hasPassword = keys.some(
    ({ name }) => `${path}.${name}` in WHEN_LEFT_OUT && name === 'passwordHash',
  );
  return [...keys, ...(hasPassword ? [PASSWORD] : [])].map((key) => {
    const at = `${path}.${key.name}`;
    const text = Object.hasOwn(WHEN_LEFT_OUT, at) ? WHEN_LEFT_OUT[at] : undefined;
    return {
      ...key,
      presence: text === undefined ? key.presence : 'optional',
      when_left_out: text,
      keys: key.keys && completeKeys(key.keys, at),
      // Elements have no name of their own in requests.
      items: key.items?.map((item) => ({
        ...item,
        keys: item.keys && completeKeys(item.keys, at),
      })),
    };
  });
}
