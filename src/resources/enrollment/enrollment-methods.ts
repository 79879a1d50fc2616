/** How a device came to its enrollment profile. */
export const ENROLLMENT_METHODS = [
  ...['profile', 'ota', 'automated', 'account_user', 'account_device'],
] as const;
