import type { PlistDict } from '../../../src/protocol/plist/plist.js';
import { answerOf, createMac, firstError } from './device-under-test.js';

const INVALID = 12_021;

function verified(mac: ReturnType<typeof createMac>, Password: string): unknown {
  return answerOf(mac, { RequestType: 'VerifyRecoveryLock', Password }).PasswordVerified;
}

function securityOf(mac: ReturnType<typeof createMac>): PlistDict {
  return answerOf(mac, { RequestType: 'SecurityInfo' }).SecurityInfo as PlistDict;
}

describe('a simulated Mac with Apple silicon', () => {
  const set = { RequestType: 'SetRecoveryLock' };

  it('sets, verifies, changes and clears its recovery lock', () => {
    const mac = createMac({ isSilicon: true });
    expect(securityOf(mac).IsRecoveryLockEnabled).toBe(false);
    expect(answerOf(mac, { ...set, NewPassword: 'first' }).Status).toBe('Acknowledged');
    expect(securityOf(mac).IsRecoveryLockEnabled).toBe(true);
    expect([verified(mac, 'first'), verified(mac, 'second')]).toEqual([true, false]);
    const change = { ...set, CurrentPassword: 'first', NewPassword: 'second' };
    expect(answerOf(mac, change).Status).toBe('Acknowledged');
    expect([verified(mac, 'first'), verified(mac, 'second')]).toEqual([false, true]);
    const clear = { ...set, CurrentPassword: 'second', NewPassword: '' };
    expect(answerOf(mac, clear).Status).toBe('Acknowledged');
    expect(securityOf(mac).IsRecoveryLockEnabled).toBe(false);
  });

  it('keeps its recovery lock when the current password is wrong or missing', () => {
    const mac = createMac({ isSilicon: true });
    answerOf(mac, { ...set, NewPassword: 'first' });
    const wrong = answerOf(mac, { ...set, CurrentPassword: 'guess', NewPassword: 'second' });
    expect(wrong.Status).toBe('Error');
    expect(firstError(wrong)).toEqual({
      ErrorCode: 8,
      ErrorDomain: 'ROSLockoutServiceDaemonErrorDomain',
      LocalizedDescription: 'The provided recovery password failed to validate.',
      USEnglishDescription: 'The provided recovery password failed to validate.',
    });
    const missing = answerOf(mac, { ...set, NewPassword: 'second' });
    expect(missing.Status).toBe('Error');
    expect(firstError(missing)).toEqual({
      ErrorCode: 70,
      ErrorDomain: 'MDMClientError',
      LocalizedDescription: 'Existing recovery lock password not provided',
      USEnglishDescription: 'Existing recovery lock password not provided',
    });
    expect(verified(mac, 'first')).toBe(true);
  });

  it('has no firmware password', () => {
    const mac = createMac({ isSilicon: true });
    const report = answerOf(mac, { RequestType: 'SetFirmwarePassword', NewPassword: 'open' });
    expect(firstError(report)?.ErrorCode).toBe(INVALID);
  });
});

describe('a simulated Mac with an Intel processor', () => {
  const set = { RequestType: 'SetFirmwarePassword' };
  const verify = { RequestType: 'VerifyFirmwarePassword' };

  it('sets its firmware password, and changes it only for the current one', () => {
    const mac = createMac({ isSilicon: false });
    const first = answerOf(mac, { ...set, NewPassword: 'first', AllowOroms: true });
    expect(first.SetFirmwarePassword).toEqual({ PasswordChanged: true });
    const wrong = answerOf(mac, { ...set, CurrentPassword: 'guess', NewPassword: 'second' });
    expect(wrong.Status).toBe('Acknowledged');
    expect(wrong.SetFirmwarePassword).toEqual({ PasswordChanged: false });
    expect(securityOf(mac).FirmwarePasswordStatus).toEqual({
      PasswordExists: true,
      ChangePending: false,
      AllowOroms: true,
    });
    const right = answerOf(mac, { ...set, CurrentPassword: 'first', NewPassword: 'second' });
    expect(right.SetFirmwarePassword).toEqual({ PasswordChanged: true });
    const verified = answerOf(mac, { ...verify, Password: 'second' });
    expect(verified.VerifyFirmwarePassword).toEqual({ PasswordVerified: true });
    const former = answerOf(mac, { ...verify, Password: 'first' });
    expect(former.VerifyFirmwarePassword).toEqual({ PasswordVerified: false });
  });

  it('has no recovery lock', () => {
    const mac = createMac({ isSilicon: false });
    const report = answerOf(mac, { RequestType: 'SetRecoveryLock', NewPassword: 'open' });
    expect(firstError(report)?.ErrorCode).toBe(INVALID);
    expect(securityOf(mac)).not.toHaveProperty('IsRecoveryLockEnabled');
  });
});
