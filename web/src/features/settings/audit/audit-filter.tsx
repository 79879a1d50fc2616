import { useEffect, useState } from 'react';
import { settingsText } from '../../../text/settings';
import { Button } from '../../../ui/button';
import { Field } from '../../../ui/field';
import type { AuditFilter } from './queries';

const words = settingsText.audit;
const PAUSE = 300;

interface Props {
  filter: AuditFilter;
  onChange: (filter: AuditFilter) => void;
}

export function AuditFilterForm({ filter, onChange }: Props) {
  const { actor = '', action = '' } = filter;
  const set = (part: AuditFilter) => {
    const { actor: who, action: what } = { ...filter, ...part };
    onChange({ actor: who || undefined, action: what || undefined });
  };
  return (
    <search className="settings-filter" aria-label={words.filter}>
      <Slow label={words.actor} value={actor} onChange={(typed) => set({ actor: typed })} />
      <Slow label={words.action} value={action} onChange={(typed) => set({ action: typed })} />
      {(actor !== '' || action !== '') && (
        <Button kind="quiet" onPress={() => onChange({})}>
          {words.clear}
        </Button>
      )}
    </search>
  );
}

interface SlowProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
}

/** Reports what is typed once the typing pauses. */
function Slow({ label, value, onChange }: SlowProps) {
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  useEffect(() => {
    if (typed === value) return undefined;
    const timer = setTimeout(() => onChange(typed), PAUSE);
    return () => clearTimeout(timer);
  }, [typed, value, onChange]);
  return <Field label={label} value={typed} onChange={setTyped} autoComplete="off" />;
}
