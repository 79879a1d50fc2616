import { commandsText } from '../../../text/commands';
import { Section } from '../../../ui/page';
import { Disclosure } from '../disclosure';
import type { Draft } from './draft';
import { type FieldFaults, faultAt } from './faults';
import { KeyField } from './key-field';
import { type Key, pointerTo } from './keys';

const words = commandsText.form;

interface Props {
  keys: readonly Key[];
  draft: Draft;
  faults: FieldFaults;
  onChange: (draft: Draft) => void;
}

/** The settings of a command: required ones, then the others below a disclosure. */
export function CommandForm({ keys, draft, faults, onChange }: Props) {
  const required = keys.filter(({ presence }) => presence === 'required');
  const optional = keys.filter(({ presence }) => presence === 'optional');
  const field = (key: Key) => (
    <KeyField
      key={key.name}
      keyOf={key}
      pointer={pointerTo('', key.name)}
      value={draft[key.name] ?? ''}
      faults={faults}
      onChange={(value) => onChange({ ...draft, [key.name]: value })}
    />
  );
  const isFaulty = optional.some(({ name }) => faultAt(faults, pointerTo('', name)) !== undefined);
  return (
    <Section title={words.title}>
      {keys.length === 0 && <p className="soft">{words.none}</p>}
      {required.map(field)}
      {optional.length > 0 && (
        <Disclosure title={words.optional(optional.length)} isForced={isFaulty}>
          {optional.map(field)}
        </Disclosure>
      )}
    </Section>
  );
}
