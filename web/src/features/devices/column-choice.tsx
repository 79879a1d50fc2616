import { useState } from 'react';
import { labelOfFact } from '../../text/device-facts';
import { devicesText as words } from '../../text/devices';
import { Button } from '../../ui/button';
import { Dialog } from '../../ui/dialog';
import { ATTRIBUTES } from './attributes';

interface Props {
  chosen: readonly string[];
  onChange: (columns: string[]) => void;
}

/** Columns stand in the order of the list, those chosen before first. */
export function ColumnChoice({ chosen, onChange }: Props) {
  const [isOpen, setOpen] = useState(false);
  const toggle = (name: string) => {
    const rest = chosen.filter((other) => other !== name);
    const columns = rest.length < chosen.length ? rest : [...chosen, name];
    if (columns.length > 0) onChange(columns);
  };
  return (
    <>
      <Button onPress={() => setOpen(true)}>{words.columns}</Button>
      <Dialog title={words.columns} isOpen={isOpen} onClose={() => setOpen(false)}>
        <div className="column-choice">
          {Object.keys(ATTRIBUTES).map((name) => (
            <label key={name}>
              <input
                type="checkbox"
                checked={chosen.includes(name)}
                onChange={() => toggle(name)}
              />
              {labelOfFact(name)}
            </label>
          ))}
        </div>
        <div className="dialog-buttons">
          <Button kind="main" onPress={() => setOpen(false)}>
            {words.columnsDone}
          </Button>
        </div>
      </Dialog>
    </>
  );
}
