import { useId, useState } from 'react';
import { Button } from './button';
import './check-list.css';
import { Input } from './input';
import { About, type LabelledProps } from './labelled';

interface Option {
  value: string;
  label: string;
}

interface Props extends LabelledProps {
  options: readonly Option[];
  chosen: readonly string[];
  onChange: (chosen: string[]) => void;
  words: { filter: string; all: string; clear: string; chosen: (count: number) => string };
}

/** More than these have a search and buttons for all and none. */
const FEW = 8;

/** Any number of some options, in their order. */
export function CheckList({ label, options, chosen, onChange, words, hint, error }: Props) {
  const id = useId();
  const [typed, setTyped] = useState('');
  const sought = typed.trim().toLowerCase();
  const shown = options.filter((option) => option.label.toLowerCase().includes(sought));
  const about = error ?? hint;
  const choose = (values: ReadonlySet<string>) =>
    onChange(options.map(({ value }) => value).filter((value) => values.has(value)));
  const toggle = (value: string) => {
    const values = new Set(chosen);
    if (!values.delete(value)) values.add(value);
    choose(values);
  };
  const isMany = options.length > FEW;
  return (
    <fieldset
      className="check-list"
      aria-describedby={about === undefined ? undefined : `${id}-about`}
    >
      <legend>{label}</legend>
      {isMany && (
        <div className="check-list-tools">
          <Input
            label={words.filter}
            placeholder={words.filter}
            type="search"
            value={typed}
            onChange={setTyped}
          />
          <Button
            kind="quiet"
            onPress={() => choose(new Set([...chosen, ...shown.map(({ value }) => value)]))}
          >
            {words.all}
          </Button>
          <Button kind="quiet" onPress={() => onChange([])}>
            {words.clear}
          </Button>
          <span className="soft">{words.chosen(chosen.length)}</span>
        </div>
      )}
      <div className="check-list-options">
        {shown.map((option) => (
          <label key={option.value}>
            <input
              type="checkbox"
              checked={chosen.includes(option.value)}
              aria-invalid={error === undefined ? undefined : true}
              aria-describedby={error === undefined ? undefined : `${id}-about`}
              onChange={() => toggle(option.value)}
            />
            <span>{option.label}</span>
          </label>
        ))}
      </div>
      <About id={`${id}-about`} hint={hint} error={error} />
    </fieldset>
  );
}
