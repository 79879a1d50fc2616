import type { Draft } from './draft';
import { KeyField, type KeyFieldProps } from './key-field';
import { KeyLabel } from './key-label';
import { joinedBy, type Key, pointerTo, sortKeys } from './keys';
import { NeededKeys } from './needed-keys';

type Props = Omit<KeyFieldProps, 'value' | 'joined'> & { value: Draft; hint: string | undefined };

/** The members of a dictionary. */
export function KeyGroup(props: Props) {
  const { keyOf, hint } = props;
  return (
    <fieldset className="key-group">
      <legend>
        <KeyLabel name={keyOf.name} />
      </legend>
      {hint !== undefined && <p className="field-hint">{hint}</p>}
      <Members {...props} conditions={keyOf.conditions} />
    </fieldset>
  );
}

type MembersProps = Omit<Props, 'hint'> & Pick<Key, 'conditions'>;

/** What is wrong with them together, and their fields: those that are needed first. */
export function Members({ keyOf, conditions, pointer, value, faults, onChange }: MembersProps) {
  const { required, needed, optional } = sortKeys(keyOf.keys ?? [], conditions);
  const field = (key: Key) => (
    <KeyField
      key={key.name}
      keyOf={key}
      joined={joinedBy(key.name, conditions)}
      pointer={pointerTo(pointer, key.name)}
      value={value[key.name] ?? ''}
      faults={faults}
      onChange={(changed) => onChange({ ...value, [key.name]: changed })}
    />
  );
  const error = faults.get(pointer);
  return (
    <>
      {error !== undefined && needed.length === 0 && <p className="field-error">{error}</p>}
      {required.map(field)}
      {needed.map((group) => (
        <NeededKeys key={group.condition.text} condition={group.condition} error={error}>
          {group.keys.map(field)}
        </NeededKeys>
      ))}
      {optional.map(field)}
    </>
  );
}
