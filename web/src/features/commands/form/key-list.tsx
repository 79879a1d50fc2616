import { useState } from 'react';
import { commandsText } from '../../../text/commands';
import { Button } from '../../../ui/button';
import { Choice } from '../../../ui/field';
import { type Entry, newEntry } from './draft';
import type { KeyFieldProps } from './key-field';
import { Members } from './key-group';
import { KeyLabel } from './key-label';
import { pointerTo } from './keys';
import { platformHint } from './platform-hint';
import { wordsOf } from './words-of';

const words = commandsText.form;

type Props = Omit<KeyFieldProps, 'value'> & {
  value: readonly Entry[];
  hint: string | undefined;
};

/** An array of dictionaries: each entry is a form of its own, of one of the kinds. */
export function KeyList({ keyOf, pointer, value, hint, faults, onChange }: Props) {
  const kinds = keyOf.items ?? [];
  const [chosen, setChosen] = useState(kinds[0]?.name ?? '');
  const label = wordsOf(keyOf.name);
  const error = faults.get(pointer);
  const isOneKind = kinds.length === 1;
  const add = () => {
    const kind = kinds.find(({ name }) => name === chosen);
    if (kind !== undefined) onChange([...value, newEntry(kind)]);
  };
  return (
    <fieldset className="key-group">
      <legend>
        <KeyLabel name={keyOf.name} />
      </legend>
      {hint !== undefined && <p className="field-hint">{hint}</p>}
      {value.map((entry, index) => {
        const kind = kinds.find(({ name }) => name === entry.kind);
        if (kind === undefined) return null;
        const title = isOneKind ? words.item(label, index + 1) : wordsOf(kind.name);
        const change = (draft: Entry['draft']) =>
          onChange(value.map((other) => (other === entry ? { ...entry, draft } : other)));
        return (
          <fieldset key={entry.id} className="key-entry">
            <legend>{title}</legend>
            <Button
              kind="quiet"
              aria-label={words.remove(title)}
              onPress={() => onChange(value.filter((other) => other !== entry))}
            >
              ×
            </Button>
            {platformHint(kind) !== '' && <p className="field-hint">{platformHint(kind)}</p>}
            <Members
              keyOf={kind}
              conditions={keyOf.conditions}
              pointer={pointerTo(pointer, index)}
              value={entry.draft}
              faults={faults}
              onChange={(draft) => change(draft as Entry['draft'])}
            />
          </fieldset>
        );
      })}
      <div className="key-add" data-invalid={error !== undefined || undefined}>
        {!isOneKind && (
          <Choice
            label={words.addKind}
            value={chosen}
            onChange={setChosen}
            error={error}
            options={kinds.map(({ name }) => ({ value: name, label: wordsOf(name) }))}
          />
        )}
        <Button onPress={add}>{words.add(label)}</Button>
      </div>
      {isOneKind && error !== undefined && (
        <p role="alert" className="field-error">
          {error}
        </p>
      )}
    </fieldset>
  );
}
