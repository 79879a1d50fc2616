import { type FormEvent, useState } from 'react';
import { ActionError } from '../../../api/action-error';
import { faultAt, otherFault } from '../../../api/form-faults';
import { deviceText } from '../../../text/device';
import { text } from '../../../text/en';
import { AsCurl } from '../../../ui/as-curl';
import { Button } from '../../../ui/button';
import { Dialog } from '../../../ui/dialog';
import { Field } from '../../../ui/field';
import { useFaultFocus } from '../../../ui/use-fault-focus';
import { nameOf } from '../name';
import type { Device, Sending } from '../queries';
import { type ActionName, actionRequest, fieldsOf, isTyped } from './actions';

const words = deviceText.confirm;

interface Props {
  device: Device;
  name: Exclude<ActionName, 'Settings'>;
  role: string | undefined;
  sending: Sending;
  onDone: () => void;
  onCancel: () => void;
}

/** Says what will happen and asks for the name of the device. */
export function ActionDialog({ device, name, role, sending, onDone, onCancel }: Props) {
  const { platform } = device;
  const [texts, setTexts] = useState<Record<string, string>>({});
  const [typed, setTyped] = useState('');
  const fields = fieldsOf(name, { platform, role });
  const action = deviceText.actions[name];
  const isFilled =
    name !== 'EnableLostMode' || fields.some((field) => (texts[field] ?? '').trim() !== '');
  const canSend = isTyped(typed, [nameOf(device), device.serial_number]) && isFilled;
  const request = actionRequest(device.id, name, texts);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (canSend && !sending.isPending) sending.mutate(request, { onSuccess: onDone });
  };
  const form = useFaultFocus(sending.error);
  const fault = otherFault(sending.error, fields);
  const consequence =
    (platform === 'macOS' ? deviceText.macConsequences[name] : undefined) ??
    deviceText.consequences[name];
  return (
    <Dialog title={words.title(action, nameOf(device))} isOpen onClose={onCancel}>
      <p>{consequence}</p>
      <form ref={form} onSubmit={submit}>
        {fields.map((field) => (
          <Field
            key={field}
            label={words.fields[field] ?? field}
            hint={words.hints[field]}
            value={texts[field] ?? ''}
            onChange={(value) => setTexts({ ...texts, [field]: value })}
            error={faultAt(sending.error, field)}
            autoComplete="off"
          />
        ))}
        {!isFilled && <p className="field-hint">{words.lostNeeds}</p>}
        <Field
          label={words.name(nameOf(device))}
          hint={words.nameHint}
          value={typed}
          onChange={setTyped}
          autoComplete="off"
          autoFocus
        />
        {fault !== undefined && <ActionError error={fault} />}
        <div className="dialog-buttons">
          <Button onPress={onCancel}>{words.cancel}</Button>
          <Button kind="danger" type="submit" isDisabled={!canSend} isPending={sending.isPending}>
            {action}
          </Button>
        </div>
      </form>
      <AsCurl words={{ ...text.curl, about: words.curl }} requests={[request]} />
    </Dialog>
  );
}
