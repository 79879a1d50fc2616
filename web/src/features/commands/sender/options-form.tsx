import { commandsText } from '../../../text/commands';
import { Field } from '../../../ui/field';
import { Section } from '../../../ui/page';
import { Disclosure } from '../disclosure';
import { optionFault } from '../form/faults';
import type { Options } from './options';

const words = commandsText.options;

interface Props {
  options: Options;
  error: unknown;
  onChange: (options: Options) => void;
}

const NAMES = ['name', 'priority', 'after', 'expires_at', 'ttl', 'spread'];

export function OptionsForm({ options, error, onChange }: Props) {
  const change = (name: keyof Options) => (value: string) =>
    onChange({ ...options, [name]: value });
  const isFaulty = NAMES.some((name) => optionFault(error, name) !== undefined);
  return (
    <Section title={words.title}>
      <Field
        label={words.name}
        value={options.name}
        onChange={change('name')}
        hint={words.nameHint}
        autoComplete="off"
        error={optionFault(error, 'name')}
      />
      <Disclosure title={words.more} isForced={isFaulty}>
        <div className="option-fields">
          <Field
            label={words.after}
            type="datetime-local"
            value={options.after}
            onChange={change('after')}
            error={optionFault(error, 'after')}
          />
          <Field
            label={words.expires}
            type="datetime-local"
            value={options.expires}
            onChange={change('expires')}
            hint={words.expiresHint}
            error={optionFault(error, 'expires_at')}
          />
          <Field
            label={words.ttl}
            type="number"
            min={1}
            max={1000}
            value={options.ttl}
            onChange={change('ttl')}
            hint={words.ttlHint}
            error={optionFault(error, 'ttl')}
          />
          <Field
            label={words.spread}
            type="number"
            min={0}
            max={10_080}
            value={options.spread}
            onChange={change('spread')}
            hint={words.spreadHint}
            error={optionFault(error, 'spread')}
          />
          <Field
            label={words.priority}
            type="number"
            value={options.priority}
            onChange={change('priority')}
            hint={words.priorityHint}
            error={optionFault(error, 'priority')}
          />
        </div>
      </Disclosure>
    </Section>
  );
}
