import { type FormEvent, useState } from 'react';
import { ActionError } from '../../api/action-error';
import { faultAt, otherFault } from '../../api/form-faults';
import { deviceText } from '../../text/device';
import { text } from '../../text/en';
import { AsCurl } from '../../ui/as-curl';
import { Button } from '../../ui/button';
import { Dialog } from '../../ui/dialog';
import { Field } from '../../ui/field';
import { useFaultFocus } from '../../ui/use-fault-focus';
import { renameRequests } from './actions/actions';
import { nameOf } from './name';
import type { Device, Sending } from './queries';

const words = deviceText.rename;
const ATTRIBUTE = 'device_name';

interface Props {
  device: Device;
  sending: Sending;
  onDone: () => void;
  onCancel: () => void;
}

/** Asks for the new name. The page shows it once the device has reported it. */
export function RenameDialog({ device, sending, onDone, onCancel }: Props) {
  const [typed, setTyped] = useState(device.device_name ?? '');
  const name = typed.trim();
  const canSend = name !== '' && name !== device.device_name;
  const requests = renameRequests(device.id, name);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (canSend && !sending.isPending) sending.mutate(requests, { onSuccess: onDone });
  };
  const form = useFaultFocus(sending.error);
  const fault = otherFault(sending.error, [ATTRIBUTE]);
  return (
    <Dialog title={words.title(nameOf(device))} isOpen onClose={onCancel}>
      <p>{words.about}</p>
      <form ref={form} onSubmit={submit}>
        <Field
          label={words.name}
          value={typed}
          onChange={setTyped}
          error={faultAt(sending.error, ATTRIBUTE)}
          autoComplete="off"
          autoFocus
        />
        {fault !== undefined && <ActionError error={fault} />}
        <div className="dialog-buttons">
          <Button onPress={onCancel}>{words.cancel}</Button>
          <Button kind="main" type="submit" isDisabled={!canSend} isPending={sending.isPending}>
            {words.submit}
          </Button>
        </div>
      </form>
      <AsCurl words={{ ...text.curl, about: deviceText.confirm.curl }} requests={requests} />
    </Dialog>
  );
}
