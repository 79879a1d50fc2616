import { useEffect, useState } from 'react';
import { devicesText as words } from '../../text/devices';
import { Button } from '../../ui/button';
import { FilterDialog } from './filter-dialog';
import { sentenceOf } from './filter-sentence';
import { type DevicesSearch, parseRule } from './search';

interface Props {
  search: DevicesSearch;
  onChange: (part: Partial<DevicesSearch>) => void;
}

const PAUSE = 200;

export function FilterBar({ search, onChange }: Props) {
  const [isOpen, setOpen] = useState(false);
  const chips = search.f ?? [];
  const remove = (chip: string) => {
    const rest = chips.filter((other) => other !== chip);
    onChange({ f: rest.length > 0 ? rest : undefined });
  };
  return (
    <search className="filter-bar">
      <SearchBox
        value={search.q ?? ''}
        onChange={(q) => onChange({ q: q === '' ? undefined : q })}
      />
      {chips.map((chip) => {
        const rule = parseRule(chip);
        const label = rule === undefined ? chip : sentenceOf(rule);
        return (
          <span key={chip} className="chip">
            {label}
            <button type="button" aria-label={words.remove(label)} onClick={() => remove(chip)}>
              ×
            </button>
          </span>
        );
      })}
      <Button kind="quiet" onPress={() => setOpen(true)}>
        + {words.addFilter}
      </Button>
      <FilterDialog
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        onAdd={(chip) => onChange({ f: [...chips.filter((other) => other !== chip), chip] })}
      />
    </search>
  );
}

/** Asks once the typing pauses; what another page sets comes in. */
function SearchBox({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  useEffect(() => {
    if (typed === value) return undefined;
    const timer = setTimeout(() => onChange(typed), PAUSE);
    return () => clearTimeout(timer);
  }, [typed, value, onChange]);
  const isShort = typed.length > 0 && typed.trim().length < 3;
  return (
    <div className="search">
      <input
        id="search"
        type="search"
        className="search-box"
        aria-label={words.search}
        aria-describedby="search-hint"
        placeholder={words.search}
        value={typed}
        maxLength={100}
        onChange={(event) => setTyped(event.target.value)}
      />
      <p id="search-hint" role="status" className="field-hint">
        {isShort && words.searchShort}
      </p>
    </div>
  );
}
