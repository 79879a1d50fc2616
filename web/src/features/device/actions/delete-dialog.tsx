import { useQuery } from '@tanstack/react-query';
import { useLocation, useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { ActionError } from '../../../api/action-error';
import { deletionText as words } from '../../../text/deletion';
import { deviceText } from '../../../text/device';
import { text } from '../../../text/en';
import { AsCurl } from '../../../ui/as-curl';
import { Button } from '../../../ui/button';
import { Dialog } from '../../../ui/dialog';
import { Field } from '../../../ui/field';
import { useDelete } from '../deletion';
import { nameOf } from '../name';
import { type Device, diagnosisQuery } from '../queries';
import { deletionRequest, isTyped } from './actions';

interface Props {
  device: Device;
  onCancel: () => void;
}

/** Says what is lost and asks for the name of the device. Afterwards the list says that it is deleted. */
export function DeleteDialog({ device, onCancel }: Props) {
  const { id, serial_number: serial, is_enrolled: isEnrolled } = device;
  const [typed, setTyped] = useState('');
  const deletion = useDelete(id);
  const { data: findings } = useQuery(diagnosisQuery(id));
  const isErased = findings?.some(({ code }) => code === 'erased') === true;
  const navigate = useNavigate();
  const search = useLocation({ select: ({ state }) => state.devices });
  const name = nameOf(device);
  const canDelete = isTyped(typed, [name, serial]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!canDelete || deletion.isPending) return;
    deletion.mutate(undefined, {
      onSuccess: () =>
        void navigate({ to: '/devices', search: search ?? {}, state: { deleted: name } }),
    });
  };
  return (
    <Dialog title={words.title(name)} isOpen onClose={onCancel}>
      <p>{words.lost}</p>
      <p>{isErased ? words.erased : isEnrolled === true ? words.enrolled : words.notEnrolled}</p>
      <form onSubmit={submit}>
        <Field
          label={deviceText.confirm.name(name)}
          hint={deviceText.confirm.nameHint}
          value={typed}
          onChange={setTyped}
          autoComplete="off"
          autoFocus
        />
        {deletion.error !== null && <ActionError error={deletion.error} />}
        <div className="dialog-buttons">
          <Button onPress={onCancel}>{deviceText.confirm.cancel}</Button>
          <Button
            kind="danger"
            type="submit"
            isDisabled={!canDelete}
            isPending={deletion.isPending || deletion.isSuccess}
          >
            {words.submit}
          </Button>
        </div>
      </form>
      <AsCurl
        words={{ ...text.curl, about: deviceText.confirm.curl }}
        requests={[deletionRequest(id)]}
      />
    </Dialog>
  );
}
