/** Before all that admins queue. */
export const FIRST_PRIORITY = 1_000_000;

/**
 * After all that admins queue: such a command is sent only when no other command is left for its
 * device, not even one that the device put off with NotNow.
 */
export const LAST_PRIORITY = -1_000_000;
