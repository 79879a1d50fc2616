import { useRef, useState } from 'react';
import { text } from '../../text/en.js';
import { type Action, command } from './queries.js';

const words = text.device;

interface Props {
  id: number;
  name: string;
  onConfirm: (action: Action) => void;
}

/** A person locks one device only after typing its name. The dialog returns the focus to its opener. */
export function LockDialog({ id, name, onConfirm }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [typed, setTyped] = useState('');
  const confirm = () => {
    dialog.current?.close();
    onConfirm(command(id, 'DeviceLock'));
  };
  return (
    <>
      <button type="button" onClick={() => dialog.current?.showModal()}>
        {words.lock}
      </button>
      <dialog ref={dialog} aria-labelledby="lock-heading" onClose={() => setTyped('')}>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (typed === name) confirm();
          }}
        >
          <h2 id="lock-heading">{words.lockTitle(name)}</h2>
          <label>
            {words.typeName(name)}{' '}
            <input value={typed} onChange={(event) => setTyped(event.target.value)} />
          </label>
          <div className="actions">
            <button type="submit" data-kind="primary" disabled={typed !== name}>
              {words.lockOne}
            </button>
            <button type="button" onClick={() => dialog.current?.close()}>
              {words.keep}
            </button>
          </div>
        </form>
      </dialog>
    </>
  );
}
