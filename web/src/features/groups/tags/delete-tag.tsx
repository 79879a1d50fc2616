import { ActionError } from '../../../api/action-error';
import { groupsText as words } from '../../../text/groups';
import { ConfirmDialog } from '../../../ui/confirm-dialog';
import { type Tag, useDeleteTag } from '../queries';

interface Props {
  tag: Tag;
  onClose: () => void;
  onDone: () => void;
}

export function DeleteTag({ tag, onClose, onDone }: Props) {
  const { mutate, isPending, error } = useDeleteTag();
  const name = tag.name ?? '';
  return (
    <ConfirmDialog
      title={words.deleteNamed(name)}
      action={words.delete}
      cancel={words.cancel}
      isOpen
      isPending={isPending}
      onConfirm={() => mutate(tag.id, { onSuccess: onDone })}
      onClose={onClose}
    >
      <p>{words.deleteTag(name, tag.devices_count ?? 0)}</p>
      {error !== null && <ActionError error={error} />}
    </ConfirmDialog>
  );
}
