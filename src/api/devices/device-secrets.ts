import { z } from 'zod';
import { secretLabel } from '../../db/devices/device-repository.js';
import { findSecret, type SecretKind, type StoredSecret } from '../../db/devices/device-secrets.js';
import { AppError } from '../../errors.js';
import { formatTimestamp, isStorableText } from '../../jsonapi/definition/values.js';
import type { ApiContext } from '../../jsonapi/handler.js';
import { action } from '../action.js';
import type { ApiRoute } from '../api-route.js';

export interface DeviceSecretDeps {
  api: ApiContext;
  /** AppError where the bytes were not sealed for the label. */
  box: { open(sealed: Buffer, label: string): Buffer };
}

/** The others are bytes. */
const TEXT_KINDS: readonly SecretKind[] = [
  'activation_lock_bypass_code',
  'fde_personal_recovery_key_device_key',
  'device_lock_pin',
  'erase_pin',
  'recovery_lock_password',
  'firmware_password',
  'admin_password',
  'filevault_recovery_key',
];

const REASON = z.strictObject({
  reason: z
    .string()
    .trim()
    .min(1)
    .max(500)
    .refine(isStorableText, { error: 'holds an invalid character' })
    .describe('Why it is read; for the audit trail.'),
});

const REVEALED = {
  type: 'revealed_secrets',
  attributes: z.strictObject({
    kind: z.string().describe('As in the list of secrets.'),
    enrollment_number: z.int().describe('The enrollment in which the device sent it.'),
    created_at: z.string().meta({ format: 'date-time' }),
    encoding: z.enum(['utf8', 'base64']).describe('How the value is written.'),
    value: z.string(),
  }),
};

/** Shows an admin what a device has escrowed. The list of it is a resource as others are. */
export function deviceSecretRoutes({ api, box }: DeviceSecretDeps): ApiRoute[] {
  const reveal = action(api, {
    method: 'POST',
    path: '/devices/{id}/secrets/{secret_id}/reveal',
    operationId: 'revealDeviceSecret',
    tag: 'device_secrets',
    role: 'admin',
    needsRecentSignIn: true,
    summary: 'Show what a device has escrowed',
    description:
      'The value of one secret, also of a former enrollment: as text, or in base64 where it is ' +
      'bytes (unlock tokens, bootstrap tokens, encrypted recovery keys). Each call is audited, with ' +
      'its reason, the kind and never the value, and so is each refusal. 409 `conflict` for a ' +
      'record that a secret was removed, or became one that the server was not given. The answer is not stored for an Idempotency-Key.',
    body: {
      attributes: REASON,
      isRequired: true,
      example: { reason: 'The user forgot the PIN; ticket 4711.' },
    },
    answer: { status: 200, description: 'The secret.', shows: REVEALED },
    audit: { action: 'devices.reveal_secret', targetType: 'devices', refusals: [] },
    storesAnswer: false,
    run: async (trx, { id: deviceId, pathId, body: { reason } }) => {
      const secretId = pathId('secret_id', 'device_secrets');
      const secret = await findSecret(trx, { deviceId, id: secretId });
      if (secret === undefined) throw unknownSecret(deviceId, secretId);
      const { kind, enrollment_number } = secret;
      if (secret.sealed.length === 0) throw emptySecret(deviceId, secret);
      const value = box.open(secret.sealed, secretLabel(deviceId, kind));
      return {
        ids: secretId,
        details: { secret_id: secretId, kind, enrollment_number, reason },
        attributes: attributesOf(secret, value),
      };
    },
  });
  return [reveal];
}

function unknownSecret(deviceId: number, secretId: number): AppError {
  const list = `GET /api/v1/devices/${deviceId}/secrets lists those that it has`;
  return new AppError('not_found', 404, `device ${deviceId} has no secret ${secretId}; ${list}`);
}

function emptySecret(deviceId: number, { id, kind, is_known: isKnown }: StoredSecret): AppError {
  const query = `filter[kind]=${kind}&filter[is_removal]=false&filter[is_known]=true&sort=-id`;
  const records = isKnown ? 'was removed' : 'became one that the server was not given';
  const message =
    `secret ${id} of device ${deviceId} has no value, it records that the ${kind} ${records}; ` +
    `reveal an earlier one of GET /api/v1/devices/${deviceId}/secrets?${query}`;
  return new AppError('conflict', 409, message);
}

function attributesOf({ kind, enrollment_number, created_at }: StoredSecret, value: Buffer) {
  const encoding = TEXT_KINDS.includes(kind) ? 'utf8' : 'base64';
  return {
    kind,
    enrollment_number,
    created_at: formatTimestamp(created_at),
    encoding,
    value: value.toString(encoding),
  };
}
