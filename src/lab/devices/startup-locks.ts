/** A Mac with Apple silicon has a recovery lock, one with an Intel processor a firmware password. */
export interface StartupLocks {
  /** Empty when there is none. */
  recoveryPassword: string;
  /** Empty when there is none. */
  firmwarePassword: string;
  /** Whether option ROMs may start while there is a firmware password. */
  allowsOptionRoms: boolean;
}

export function createStartupLocks(): StartupLocks {
  return { recoveryPassword: '', firmwarePassword: '', allowsOptionRoms: false };
}
