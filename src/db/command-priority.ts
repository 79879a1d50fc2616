/** Before all that admins queue. */
export const FIRST_PRIORITY = 1_000_000;

/**
 * After all that admins queue: such a command goes out only when nothing else that its device may
 * have is left, not even what the device has put off by NotNow.
 */
export const LAST_PRIORITY = -1_000_000;
