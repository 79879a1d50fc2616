import { type FormEvent, useState } from 'react';
import { labelOf, devicesText as words } from '../../text/devices';
import { Button } from '../../ui/button';
import { Dialog } from '../../ui/dialog';
import { Choice, Field } from '../../ui/field';
import { ATTRIBUTES, kindOf } from './attributes';
import { chipOf, operatorsOf } from './search';

interface Props {
  isOpen: boolean;
  onClose: () => void;
  onAdd: (chip: string) => void;
}

const NAMES = Object.keys(ATTRIBUTES)
  .map((name) => ({ value: name, label: labelOf(name) }))
  .sort((a, b) => a.label.localeCompare(b.label));

export function FilterDialog({ isOpen, onClose, onAdd }: Props) {
  const [name, setName] = useState('platform');
  const [chosenOp, setOp] = useState('eq');
  const [typed, setValue] = useState('');
  const operators = operatorsOf(name);
  const op = operators.includes(chosenOp) ? chosenOp : (operators[0] ?? 'eq');
  const values = valuesOf(name);
  const value = op === 'empty' ? '' : values.length > 0 ? pick(typed, values) : typed;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (op !== 'empty' && value === '') return;
    onAdd(chipOf({ name, op, value }));
    setValue('');
    onClose();
  };
  const options = values.map((entry) => ({ value: entry, label: labelOfValue(name, entry) }));
  return (
    <Dialog title={words.filterTitle} isOpen={isOpen} onClose={onClose}>
      <form onSubmit={submit}>
        <Choice label={words.attribute} value={name} onChange={setName} options={NAMES} />
        <Choice
          label={words.operator}
          value={op}
          onChange={setOp}
          options={operators.map((entry) => ({
            value: entry,
            label: words.operators[entry] ?? entry,
          }))}
        />
        {op !== 'empty' && options.length > 0 && (
          <Choice label={words.value} value={value} onChange={setValue} options={options} />
        )}
        {op !== 'empty' && options.length === 0 && (
          <Field
            label={words.value}
            type={kindOf(name) === 'time' ? 'number' : 'text'}
            value={typed}
            onChange={setValue}
          />
        )}
        <div className="dialog-buttons">
          <Button onPress={onClose}>{words.cancel}</Button>
          <Button kind="main" type="submit">
            {words.apply}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function valuesOf(name: string): readonly string[] {
  return kindOf(name) === 'boolean' ? ['true', 'false'] : (ATTRIBUTES[name]?.values ?? []);
}

function pick(typed: string, values: readonly string[]): string {
  return values.includes(typed) ? typed : (values[0] ?? '');
}

function labelOfValue(name: string, value: string): string {
  if (kindOf(name) === 'boolean') return value === 'true' ? words.yes : words.no;
  return name === 'health' ? (words.health[value] ?? value) : value;
}
