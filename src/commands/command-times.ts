import type { CommandRow } from '../db/devices/command-repository.js';
import type { ErrorDetail } from '../errors.js';
import type { QueueOptions } from './queue.js';

/** Faults of a command that expires in the past, or before it may be sent. */
export function timeFaults({ after, expiresAt }: QueueOptions): ErrorDetail[] {
  if (!expiresAt || expiresAt.getTime() > Date.now()) return orderFaults({ after, expiresAt });
  const source = { pointer: '/data/attributes/expires_at' };
  return [{ detail: 'expires_at is in the past', source }];
}

type Times = Pick<QueueOptions, 'after' | 'expiresAt'>;

/** The times after the change; {} if it changes neither. */
export function changedTimes(
  { after, expires_at }: CommandRow,
  changes: Pick<Partial<CommandRow>, 'after' | 'expires_at'>,
): Times {
  if (changes.after === undefined && changes.expires_at === undefined) return {};
  const changed = { after, expires_at, ...changes };
  return { after: changed.after, expiresAt: changed.expires_at };
}

/** Fault of a command that expires before it may be sent. */
export function orderFaults({ after, expiresAt }: Times): ErrorDetail[] {
  if (!after || !expiresAt || after.getTime() < expiresAt.getTime()) return [];
  const source = { pointer: '/data/attributes/after' };
  return [{ detail: 'after is not before expires_at: the command would never be sent', source }];
}
