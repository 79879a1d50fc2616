import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { ActionError } from '../../api/action-error';
import { faultOfValue } from '../../api/fact-values';
import { labelOfFilter } from '../../text/device-facts';
import { devicesText as words } from '../../text/devices';
import { Button } from '../../ui/button';
import { Dialog } from '../../ui/dialog';
import { Choice, Field } from '../../ui/field';
import { FILTERS, kindOf } from './attributes';
import { labelOfValue } from './filter-sentence';
import { membershipValuesQuery, type Value } from './membership-values';
import { chipOf, hasValue, operatorsOf } from './search';

interface Props {
  isOpen: boolean;
  onClose: () => void;
  onAdd: (chip: string) => void;
}

const NAMES = Object.keys(FILTERS)
  .map((name) => ({ value: name, label: labelOfFilter(name) }))
  .sort((a, b) => a.label.localeCompare(b.label));

export function FilterDialog({ isOpen, onClose, onAdd }: Props) {
  const [name, setName] = useState('platform');
  const [chosenOp, setOp] = useState('eq');
  const [typed, setValue] = useState('');
  const operators = operatorsOf(name);
  const op = operators.includes(chosenOp) ? chosenOp : (operators[0] ?? 'eq');
  const isListed = name === 'tags' || name === 'device_groups';
  const listed = useQuery({ ...membershipValuesQuery, enabled: isOpen && isListed });
  const choices = isListed ? (listed.data?.[name] ?? []) : valuesOf(name);
  const options =
    isListed && choices.length > 0 ? [{ value: '', label: words.choose }, ...choices] : choices;
  const isTyped = hasValue(op) && options.length === 0 && !isListed;
  const value = !hasValue(op) ? '' : isTyped ? typed : pick(typed, options);
  const isUnfinished = hasValue(op) && value === '';
  const fault = isTyped && !isUnfinished ? faultOfValue(kindOf(name), name, value) : undefined;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isUnfinished || fault !== undefined) return;
    onAdd(chipOf({ name, op, value }));
    setValue('');
    onClose();
  };
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
        {hasValue(op) && options.length > 0 && (
          <Choice label={words.value} value={value} onChange={setValue} options={options} />
        )}
        {isListed && listed.data !== undefined && options.length === 0 && (
          <p className="soft">{words.noValues[name]}</p>
        )}
        {listed.error !== null && <ActionError error={listed.error} />}
        {isTyped && (
          <Field
            label={words.value}
            hint={name === 'installed_applications' ? words.applicationHint : undefined}
            type={['time', 'number'].includes(kindOf(name)) ? 'number' : 'text'}
            error={fault}
            value={typed}
            onChange={setValue}
          />
        )}
        <div className="dialog-buttons">
          <Button onPress={onClose}>{words.cancel}</Button>
          <Button kind="main" type="submit" isDisabled={isUnfinished || fault !== undefined}>
            {words.apply}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function valuesOf(name: string): Value[] {
  const values = kindOf(name) === 'boolean' ? ['true', 'false'] : (FILTERS[name]?.values ?? []);
  return values.map((value) => ({ value, label: labelOfValue(name, value) }));
}

function pick(typed: string, options: readonly Value[]): string {
  return options.some(({ value }) => value === typed) ? typed : (options[0]?.value ?? '');
}
