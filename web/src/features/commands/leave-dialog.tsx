import { useBlocker } from '@tanstack/react-router';
import { commandsText } from '../../text/commands';
import { ConfirmDialog } from '../../ui/confirm-dialog';

const words = commandsText.sending;

/** Asks before a form that was filled in is left. Its own address may change. */
export function LeaveDialog({ isDirty }: { isDirty: boolean }) {
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
