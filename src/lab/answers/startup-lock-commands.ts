import { acknowledged, type CommandHandler, failed } from './answer.js';

/** An empty new password removes the lock. */
const setRecoveryLock: CommandHandler = ({ startupLocks }, command) => {
  const { CurrentPassword: current, NewPassword: next } = command;
  if (typeof next !== 'string') return { status: 'CommandFormatError' };
  const { recoveryPassword } = startupLocks;
  if (recoveryPassword !== '' && current === undefined) {
    return failed(70, 'Existing recovery lock password not provided', 'MDMClientError');
  }
  if (recoveryPassword !== '' && current !== recoveryPassword) {
    const message = 'The provided recovery password failed to validate.';
    return failed(8, message, 'ROSLockoutServiceDaemonErrorDomain');
  }
  startupLocks.recoveryPassword = next;
  return acknowledged();
};

const verifyRecoveryLock: CommandHandler = ({ startupLocks }, { Password: password }) => {
  if (typeof password !== 'string') return { status: 'CommandFormatError' };
  return acknowledged({ PasswordVerified: password === startupLocks.recoveryPassword });
};

/** A Mac acknowledges a wrong current password too, and says that it has changed nothing. */
const setFirmwarePassword: CommandHandler = ({ startupLocks }, command) => {
  const {
    CurrentPassword: current = '',
    NewPassword: next,
    AllowOroms: allowsOptionRoms,
  } = command;
  if (typeof next !== 'string') return { status: 'CommandFormatError' };
  const { firmwarePassword } = startupLocks;
  const PasswordChanged = firmwarePassword === '' || current === firmwarePassword;
  if (PasswordChanged) {
    startupLocks.firmwarePassword = next;
    startupLocks.allowsOptionRoms = allowsOptionRoms === true;
  }
  return acknowledged({ SetFirmwarePassword: { PasswordChanged } });
};

const verifyFirmwarePassword: CommandHandler = ({ startupLocks }, { Password: password }) => {
  if (typeof password !== 'string') return { status: 'CommandFormatError' };
  const PasswordVerified = password === startupLocks.firmwarePassword;
  return acknowledged({ VerifyFirmwarePassword: { PasswordVerified } });
};

/** Passwords that a Mac asks for before it starts from another volume. */
export const STARTUP_LOCK_COMMANDS: Record<string, CommandHandler> = {
  SetRecoveryLock: setRecoveryLock,
  VerifyRecoveryLock: verifyRecoveryLock,
  SetFirmwarePassword: setFirmwarePassword,
  VerifyFirmwarePassword: verifyFirmwarePassword,
};
