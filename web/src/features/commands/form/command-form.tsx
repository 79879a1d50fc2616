import { commandsText } from '../../../text/commands';
import { Section } from '../../../ui/page';
import { Disclosure } from '../disclosure';
import type { Draft } from './draft';
import { type FieldFaults, faultAt } from './faults';
import { KeyField } from './key-field';
import { type Condition, joinedBy, type Key, pointerTo, sortKeys } from './keys';
import { NeededKeys } from './needed-keys';

const words = commandsText.form;

interface Props {
  keys: readonly Key[];
  conditions: readonly Condition[];
  draft: Draft;
  faults: FieldFaults;
  onChange: (draft: Draft) => void;
}

/** The settings of a command: what is needed, then the others below a disclosure. */
export function CommandForm({ keys, conditions, draft, faults, onChange }: Props) {
  const { required, needed, optional } = sortKeys(keys, conditions);
  const field = (key: Key) => (
    <KeyField
      key={key.name}
      keyOf={key}
      joined={joinedBy(key.name, conditions)}
      pointer={pointerTo('', key.name)}
      value={draft[key.name] ?? ''}
      faults={faults}
      onChange={(value) => onChange({ ...draft, [key.name]: value })}
    />
  );
  const isFaulty = optional.some(({ name }) => faultAt(faults, pointerTo('', name)) !== undefined);
  const error = faults.get('');
  return (
    <Section title={words.title}>
      {keys.length === 0 && <p className="soft">{words.none}</p>}
      {error !== undefined && needed.length === 0 && <p className="field-error">{error}</p>}
      {required.map(field)}
      {needed.map((group) => (
        <NeededKeys key={group.condition.text} condition={group.condition} error={error}>
          {group.keys.map(field)}
        </NeededKeys>
      ))}
      {optional.length > 0 && (
        <Disclosure title={words.optional(optional.length)} isForced={isFaulty}>
          {optional.map(field)}
        </Disclosure>
      )}
    </Section>
  );
}
