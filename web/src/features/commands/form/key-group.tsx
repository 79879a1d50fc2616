import type { Draft } from './draft';
import { KeyField, type KeyFieldProps } from './key-field';
import { KeyLabel } from './key-label';
import { isHidden, pointerTo } from './keys';

type Props = Omit<KeyFieldProps, 'value'> & { value: Draft; hint: string | undefined };

/** The members of a dictionary. */
export function KeyGroup(props: Props) {
  const { keyOf, hint, pointer, faults } = props;
  const error = faults.get(pointer);
  return (
    <fieldset className="key-group">
      <legend>
        <KeyLabel name={keyOf.name} />
      </legend>
      {hint !== undefined && <p className="field-hint">{hint}</p>}
      {error !== undefined && <p className="field-error">{error}</p>}
      <Members {...props} />
    </fieldset>
  );
}

/** Its fields, those that are required first. */
export function Members({ keyOf, pointer, value, faults, onChange }: Omit<Props, 'hint'>) {
  const keys = (keyOf.keys ?? []).filter((key) => !isHidden(key));
  const ordered = [
    ...keys.filter(({ presence }) => presence === 'required'),
    ...keys.filter(({ presence }) => presence === 'optional'),
  ];
  return ordered.map((key) => (
    <KeyField
      key={key.name}
      keyOf={key}
      pointer={pointerTo(pointer, key.name)}
      value={value[key.name] ?? ''}
      faults={faults}
      onChange={(changed) => onChange({ ...value, [key.name]: changed })}
    />
  ));
}
