import { ActionError } from '../../../api/action-error';
import { settingsText } from '../../../text/settings';
import { ConfirmDialog } from '../../../ui/confirm-dialog';
import { type Token, useRevokeToken } from './queries';

const words = settingsText.tokens;

interface Props {
  token: Token;
  onClose: () => void;
  onDone: () => void;
}

export function RevokeToken({ token, onClose, onDone }: Props) {
  const revoke = useRevokeToken();
  return (
    <ConfirmDialog
      title={words.revokeTitle}
      action={words.revoke}
      cancel={settingsText.cancel}
      isOpen
      isPending={revoke.isPending}
      onConfirm={() => revoke.mutate(token, { onSuccess: onDone })}
      onClose={onClose}
    >
      <p>{words.revokeWhy(token.name ?? '')}</p>
      {revoke.error !== null && <ActionError error={revoke.error} />}
    </ConfirmDialog>
  );
}
