import { type FormEvent, useState } from 'react';
import { ActionError } from '../../../api/action-error';
import { commandsText } from '../../../text/commands';
import { Button } from '../../../ui/button';
import { Dialog } from '../../../ui/dialog';
import { isTypedCount, TypedCount } from '../../../ui/typed-count';

const words = commandsText.sending;

interface Props {
  requestType: string;
  title: string;
  count: number;
  /** Whether the number has to be typed. */
  isTyped: boolean;
  error: Error | null;
  isPending: boolean;
  onConfirm: () => void;
  onClose: () => void;
}

/** The action in words, with the number of devices. */
export function actionOf(requestType: string, title: string, count: number): string {
  const what = commandsText.devices(count);
  return words.verbs[requestType]?.(what) ?? words.generic(title, what);
}

/** Says what will happen to how many devices, and asks for the number. Key it by the number. */
export function ConfirmSend(props: Props) {
  const { requestType, title, count, isTyped, error, isPending, onConfirm, onClose } = props;
  const [typed, setTyped] = useState('');
  const isConfirmed = !isTyped || isTypedCount(typed, count);
  const action = actionOf(requestType, title, count);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    // The dialog stands in the form of the page for React, which would send, too.
    event.stopPropagation();
    if (isConfirmed && !isPending) onConfirm();
  };
  return (
    <Dialog title={`${action}?`} isOpen onClose={onClose}>
      <form onSubmit={submit}>
        <p>{words.effects[requestType] ?? words.genericEffect}</p>
        <p className="soft">
          {words.waiting} {words.notBack}
        </p>
        {isTyped && <TypedCount label={words.typed(count)} value={typed} onChange={setTyped} />}
        {error !== null && <ActionError error={error} />}
        <div className="dialog-buttons">
          <Button onPress={onClose}>{commandsText.cancel}</Button>
          <Button kind="danger" type="submit" isDisabled={!isConfirmed} isPending={isPending}>
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
