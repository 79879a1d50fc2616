import { type FormEvent, useEffect, useState } from 'react';
import { ActionError } from '../../../api/action-error';
import { deviceText } from '../../../text/device';
import { Button } from '../../../ui/button';
import { Copy } from '../../../ui/copy';
import { Dialog } from '../../../ui/dialog';
import { Field } from '../../../ui/field';
import { useReveal } from '../queries';

const words = deviceText.secrets;
const SHOWN_FOR = 60_000;

interface Props {
  device: number;
  secret: number;
  title: string;
  onClose: () => void;
}

/** Asks why, then shows the value for a minute. */
export function RevealDialog({ device, secret, title, onClose }: Props) {
  const [reason, setReason] = useState('');
  const reveal = useReveal(device, secret);
  const isShown = reveal.data !== undefined;
  useEffect(() => {
    if (!isShown) return undefined;
    const timer = setTimeout(onClose, SHOWN_FOR);
    return () => clearTimeout(timer);
  }, [isShown, onClose]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (reason.trim() !== '' && !reveal.isPending) reveal.mutate(reason.trim());
  };
  return (
    <Dialog title={title} isOpen onClose={onClose}>
      {reveal.data === undefined ? (
        <form onSubmit={submit}>
          <p>{words.about}</p>
          <Field
            label={words.reason}
            value={reason}
            onChange={setReason}
            autoComplete="off"
            required
            autoFocus
          />
          {reveal.error !== null && <ActionError error={reveal.error} />}
          <div className="dialog-buttons">
            <Button onPress={onClose}>{words.cancel}</Button>
            <Button
              kind="main"
              type="submit"
              isDisabled={reason.trim() === ''}
              isPending={reveal.isPending}
            >
              {words.submit}
            </Button>
          </div>
        </form>
      ) : (
        <>
          <p className="secret-value">
            <Copy text={reveal.data.value} label={deviceText.copy} />
          </p>
          <p className="soft" role="status">
            {reveal.data.encoding === 'base64' && `${words.base64} `}
            {words.hides}
          </p>
          <div className="dialog-buttons">
            <Button kind="main" onPress={onClose} autoFocus>
              {words.hide}
            </Button>
          </div>
        </>
      )}
    </Dialog>
  );
}
