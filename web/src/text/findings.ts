/** What the diagnosis finds, by its code, in a few words. */
export const FINDINGS: Readonly<Record<string, string>> = {
  no_push_token: 'No push token',
  topic_mismatch: 'Another push topic',
  push_token_refused: 'Push token refused',
  push_failing: 'Pushes fail',
  silent: 'No contact',
  clock_wrong: 'Wrong clock',
  not_now: 'Answers NotNow',
  command_unanswered: 'Command never answered',
  commands_failing: 'Commands fail',
  items_failed: 'Profile failed',
  inventory_stale: 'Old inventory',
  enrollment_incomplete: 'Enrollment not finished',
  unenrolled: 'Unenrolled',
  erased: 'Erased',
  setup_stuck: 'Stuck in Setup Assistant',
  enrollment_replaced: 'Enrollment replaced',
  enrollment_held: 'Enrollment waits for approval',
  identity_expires_soon: 'Identity expires soon',
  identity_expired: 'Identity expired',
  identity_refused: 'Identity refused',
  dep_profile_differs: 'DEP profile differs',
};

/** The words of a code; of one without words, the code. */
export function findingName(code: string): string {
  return FINDINGS[code] ?? code;
}
