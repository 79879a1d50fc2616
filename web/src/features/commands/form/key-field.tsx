import { commandsText, valueText } from '../../../text/commands';
import { CheckList } from '../../../ui/check-list';
import { Choice, Field } from '../../../ui/field';
import { TextArea } from '../../../ui/text-area';
import { DataField } from './data-field';
import type { Draft, DraftValue, Entry } from './draft';
import { type FieldFaults, faultAt } from './faults';
import { KeyGroup } from './key-group';
import { useHint } from './key-hint';
import { KeyLabel } from './key-label';
import { KeyList } from './key-list';
import { allowedValues, type Key, kindOf } from './keys';
import { wordsOf } from './words-of';

const words = commandsText.form;

export interface KeyFieldProps {
  keyOf: Key;
  /** What joins it with other keys, in sentences. */
  joined?: readonly string[];
  pointer: string;
  value: DraftValue;
  faults: FieldFaults;
  onChange: (value: DraftValue) => void;
}

/** The field that suits the key. */
export function KeyField(props: KeyFieldProps) {
  const { keyOf: key, joined, pointer, value, faults, onChange } = props;
  const kind = kindOf(key);
  const label = <KeyLabel name={key.name} />;
  const hint = useHint(key, joined);
  const error = faultAt(faults, pointer);
  const common = { label, hint, error, onChange };
  switch (kind) {
    case 'boolean':
    case 'choice':
      return <Choice {...common} value={value as string} options={optionsOf(key)} />;
    case 'dictionary':
      return <KeyGroup {...props} value={value as Draft} hint={hint} />;
    case 'list':
      return <KeyList {...props} value={value as readonly Entry[]} hint={hint} />;
    case 'choices':
      return (
        <CheckList
          {...common}
          options={choicesOf(key)}
          chosen={value as readonly string[]}
          words={{
            filter: words.filter(wordsOf(key.name)),
            all: words.all,
            clear: words.clear,
            chosen: words.chosen,
          }}
        />
      );
    case 'lines':
    case 'json':
      return <TextArea {...common} value={value as string} rows={kind === 'json' ? 5 : 3} />;
    case 'data':
      return <DataField {...common} name={wordsOf(key.name)} value={value as string} />;
    case 'number':
      return <Field {...common} value={value as string} inputMode="decimal" autoComplete="off" />;
    case 'date':
      return <Field {...common} type="datetime-local" value={value as string} />;
    default:
      return (
        <Field
          {...common}
          type={kind === 'secret' ? 'password' : 'text'}
          autoComplete={kind === 'secret' ? 'new-password' : 'off'}
          value={value as string}
        />
      );
  }
}

function optionsOf(key: Key) {
  const named = (value: unknown) =>
    typeof value === 'boolean'
      ? value
        ? commandsText.yes
        : commandsText.no
      : valueText(key.name, value);
  const values = key.type === 'boolean' ? [true, false] : allowedValues(key);
  const isSet = key.default !== undefined;
  const unset = isSet ? words.notSetDefault(named(key.default)) : words.notSet;
  return [
    { value: '', label: key.presence === 'required' ? words.choose : unset },
    ...values.map((value) => ({ value: String(value), label: named(value) })),
  ];
}

function choicesOf({ items = [] }: Key) {
  return allowedValues(items[0] as Key).map((value) => ({
    value: String(value),
    label: String(value),
  }));
}
