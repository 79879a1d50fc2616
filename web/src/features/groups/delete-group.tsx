import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { ActionError } from '../../api/action-error';
import { groupsText as words } from '../../text/groups';
import { Button } from '../../ui/button';
import { ConfirmDialog } from '../../ui/confirm-dialog';
import { type Group, useDeleteGroup } from './queries';

export function DeleteGroup({ group }: { group: Group }) {
  const [isOpen, setOpen] = useState(false);
  const { mutate, isPending, error } = useDeleteGroup();
  const navigate = useNavigate();
  const name = group.name ?? '';
  const confirm = () =>
    mutate(group.id, { onSuccess: () => void navigate({ to: '/groups', ignoreBlocker: true }) });
  return (
    <>
      <Button onPress={() => setOpen(true)}>{words.delete}</Button>
      <ConfirmDialog
        title={words.deleteNamed(name)}
        action={words.delete}
        cancel={words.cancel}
        isOpen={isOpen}
        isPending={isPending}
        onConfirm={confirm}
        onClose={() => setOpen(false)}
      >
        <p>{words.deleteGroup(name, group.devices_count ?? 0)}</p>
        {error !== null && <ActionError error={error} />}
      </ConfirmDialog>
    </>
  );
}
