import { type ReactNode, useId } from 'react';
import './field.css';

interface Props {
  label: ReactNode;
  value: string;
  onChange: (value: string) => void;
  rows?: number;
  hint?: string | undefined;
  error?: string | undefined;
}

export function TextArea({ label, value, onChange, rows = 4, hint, error }: Props) {
  const id = useId();
  const about = error ?? hint;
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <textarea
        id={id}
        rows={rows}
        value={value}
        spellCheck={false}
        aria-invalid={error === undefined ? undefined : true}
        aria-describedby={about === undefined ? undefined : `${id}-about`}
        onChange={(event) => onChange(event.target.value)}
      />
      {about !== undefined && (
        <p id={`${id}-about`} className={error === undefined ? 'field-hint' : 'field-error'}>
          {about}
        </p>
      )}
    </div>
  );
}
