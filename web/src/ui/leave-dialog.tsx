import { useBlocker } from '@tanstack/react-router';
import { ConfirmDialog } from './confirm-dialog';

interface Props {
  isDirty: boolean;
  words: { leaveTitle: string; leave: string; stay: string; leaveWhy: string };
}

/** Asks before a form that was filled in is left. The query of its own address may change. */
export function LeaveDialog({ isDirty, words }: Props) {
  const blocker = useBlocker({
    shouldBlockFn: ({ current, next }) => isDirty && current.pathname !== next.pathname,
    enableBeforeUnload: () => isDirty,
    withResolver: true,
  });
  const isBlocked = blocker.status === 'blocked';
  return (
    <ConfirmDialog
      title={words.leaveTitle}
      action={words.leave}
      cancel={words.stay}
      isOpen={isBlocked}
      onConfirm={() => isBlocked && blocker.proceed()}
      onClose={() => isBlocked && blocker.reset()}
    >
      <p>{words.leaveWhy}</p>
    </ConfirmDialog>
  );
}
