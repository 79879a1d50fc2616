/** Statuses of a command that its device has yet to answer, as in the column `commands.is_pending`. */
export const PENDING_STATUSES: readonly string[] = ['Queued', 'Sent', 'NotNow'];

export function isPendingStatus(status: string | null): boolean {
  return status !== null && PENDING_STATUSES.includes(status);
}
