import { ActionError } from '../../../api/action-error';
import { settingsText } from '../../../text/settings';
import { ConfirmDialog } from '../../../ui/confirm-dialog';
import { browserName } from './browser-name';
import { type Session, useRevoke } from './queries';

const words = settingsText.sessions;

interface Props {
  session: Session;
  onClose: () => void;
  onDone: () => void;
}

export function RevokeSession({ session, onClose, onDone }: Props) {
  const revoke = useRevoke();
  const browser = browserName(session.user_agent) ?? words.unknownBrowser;
  return (
    <ConfirmDialog
      title={words.revokeTitle}
      action={words.revoke}
      cancel={settingsText.cancel}
      isOpen
      isPending={revoke.isPending}
      onConfirm={() => revoke.mutate(session, { onSuccess: onDone })}
      onClose={onClose}
    >
      <p>{words.revokeWhy(session.name ?? '', browser)}</p>
      {session.is_current && <p>{words.revokeOwn}</p>}
      {revoke.error !== null && <ActionError error={revoke.error} />}
    </ConfirmDialog>
  );
}
