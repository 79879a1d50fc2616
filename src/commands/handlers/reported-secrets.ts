import { secretLabel } from '../../db/devices/device-repository.js';
import {
  type CommandSecretKind,
  escrowSecrets,
  type SecretKey,
  type SecretKind,
} from '../../db/devices/device-secrets.js';
import {
  noteSecretFound,
  noteUnknownSecret,
  refuseSecretOf,
} from '../../db/devices/secrets-in-effect.js';
import type { PlistDict } from '../../protocol/plist/plist.js';
import { dictAt } from '../reports/report-columns.js';
import { type HandlerContext, oneByOne, type ReportHandler } from '../reports/report-handler.js';

export interface ReportedSecret {
  deviceId: number;
  kind: SecretKind;
  bytes: Buffer;
}

/** Stores what devices reported. Returns those that are new: devices repeat what they have. */
export async function escrow(
  secrets: readonly ReportedSecret[],
  { trx, seal, digest }: HandlerContext,
): Promise<ReportedSecret[]> {
  const sealed = secrets.map(({ deviceId, kind, bytes }) => {
    const label = secretLabel(deviceId, kind);
    return { deviceId, kind, sealed: seal(bytes, label), digest: digest(bytes, label) };
  });
  const keyOf = ({ deviceId, kind }: SecretKey) => secretLabel(deviceId, kind);
  const added = new Set((await escrowSecrets(trx, sealed)).map(keyOf));
  return secrets.filter((secret) => added.has(keyOf(secret)));
}

/**
 * Stores the FileVault recovery key that a CMS message holds. Returns false when it is encrypted to
 * another certificate than the server's: the former key is then no longer the device's.
 */
export async function escrowRecoveryKey(
  deviceId: number,
  cms: Buffer,
  context: HandlerContext,
): Promise<boolean> {
  const key = await context.openRecoveryKey(cms);
  if (key === undefined) {
    await noteUnknownSecret(context.trx, { deviceId, kind: 'filevault_recovery_key' });
    return false;
  }
  const bytes = Buffer.from(key, 'utf8');
  await escrow([{ deviceId, kind: 'filevault_recovery_key', bytes }], context);
  return true;
}

/** The new recovery key, encrypted to the certificate that the command named. */
export const rotateFileVaultKey: ReportHandler = {
  requestType: 'RotateFileVaultKey',
  handle: oneByOne(async (report, context) => {
    const { deviceId, body } = report;
    const cms = dictAt(body, 'RotateResult')?.EncryptedNewRecoveryKey;
    if (!Buffer.isBuffer(cms) || cms.length === 0) return;
    if (await escrowRecoveryKey(deviceId, cms, context)) return;
    await escrow([{ deviceId, kind: 'fde_personal_recovery_key_cms', bytes: cms }], context);
    const message =
      'the new recovery key is encrypted to another certificate than the server’s; it is kept as it came';
    context.warn(report, { deviceId }, message);
  }),
};

/** A Mac can acknowledge the command without a change, when the current password was wrong. */
export const setFirmwarePassword: ReportHandler = {
  requestType: 'SetFirmwarePassword',
  handle: oneByOne(async (report, { trx, refuse }) => {
    const { PasswordChanged } = dictAt(report.body, 'SetFirmwarePassword') ?? report.body;
    if (PasswordChanged !== false) return;
    await refuseSecretOf(trx, report.id);
    refuse(report, [{ item: 'NewPassword', answer: { PasswordChanged } }]);
  }),
};

export const verifyFirmwarePassword = verifies('VerifyFirmwarePassword', {
  kind: 'firmware_password',
  answerOf: (body) => dictAt(body, 'VerifyFirmwarePassword'),
});

export const verifyRecoveryLock = verifies('VerifyRecoveryLock', {
  kind: 'recovery_lock_password',
  answerOf: (body) => body,
});

interface Verified {
  kind: CommandSecretKind;
  answerOf: (body: PlistDict) => PlistDict | undefined;
}

/** Whether the password of the command is the device's. */
function verifies(requestType: string, { kind, answerOf }: Verified): ReportHandler {
  return {
    requestType,
    readsParameters: true,
    handle: oneByOne(async (report, { trx, seal, digest, refuse }) => {
      const { Password: password } = report.parameters();
      const { PasswordVerified: isRight, ...answer } = answerOf(report.body) ?? {};
      if (typeof password !== 'string' || typeof isRight !== 'boolean') return;
      if (!isRight) refuse(report, [{ item: 'Password', answer }]);
      const { id: commandId, deviceId } = report;
      const label = secretLabel(deviceId, kind);
      const plain = Buffer.from(password, 'utf8');
      const secret = { deviceId, kind, sealed: seal(plain, label), digest: digest(plain, label) };
      await noteSecretFound(trx, { ...secret, commandId, isRight });
    }),
  };
}

/** The code that clears an Activation Lock which its user has switched on. */
export const activationLockBypassCode: ReportHandler = {
  requestType: 'ActivationLockBypassCode',
  handle: oneByOne(async ({ deviceId, body }, context) => {
    const { ActivationLockBypassCode: code } = body;
    if (typeof code !== 'string' || code === '') return;
    const bytes = Buffer.from(code, 'utf8');
    await escrow([{ deviceId, kind: 'activation_lock_bypass_code', bytes }], context);
  }),
};
