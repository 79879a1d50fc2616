import type { RetentionNotice } from '../../db/devices/removal-notices.js';
import type { Logger } from '../../logger.js';

interface WhatIsRemoved {
  /** Subject and verb of the notice, such as `commands ended`. */
  what: string;
  setting: 'CHANGE_RETENTION' | 'COMMAND_RETENTION' | 'AUDIT_RETENTION';
  /** Milliseconds. */
  age: number;
}

const DAY_MS = 86_400_000;

/** Logs a removal that has just been announced. Returns whether the removal may begin. */
export function isRemovalDue(
  notice: RetentionNotice,
  { what, setting, age }: WhatIsRemoved,
  logger: Logger,
): boolean {
  if (!('announced' in notice)) return notice.isDue;
  const { announced, count } = notice;
  if (count === 0) return false;
  const days = Math.round(age / DAY_MS);
  const from = new Date(announced.getTime() + DAY_MS).toISOString();
  const text =
    `${count} ${what} more than ${days === 1 ? 'a day' : `${days} days`} ago (${setting}) and are removed from ` +
    `${from} on; set ${setting}=off to keep them`;
  logger.warn({ count, from }, text);
  return false;
}
