import type { HTMLInputTypeAttribute, ReactNode } from 'react';
import { useId } from 'react';
import './field.css';

interface Props {
  label: ReactNode;
  value: string;
  onChange: (value: string) => void;
  type?: HTMLInputTypeAttribute;
  hint?: string | undefined;
  error?: string | undefined;
  required?: boolean;
  autoFocus?: boolean;
  autoComplete?: string;
  inputMode?: 'decimal';
  min?: number;
  max?: number;
}

export function Field({ label, value, onChange, type = 'text', hint, error, ...rest }: Props) {
  const id = useId();
  const about = error ?? hint;
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        {...rest}
        id={id}
        type={type}
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

interface ChoiceProps {
  label: ReactNode;
  value: string;
  onChange: (value: string) => void;
  options: readonly { value: string; label: string }[];
  hint?: string | undefined;
  error?: string | undefined;
}

export function Choice({ label, value, onChange, options, hint, error }: ChoiceProps) {
  const id = useId();
  const about = error ?? hint;
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select
        id={id}
        value={value}
        aria-invalid={error === undefined ? undefined : true}
        aria-describedby={about === undefined ? undefined : `${id}-about`}
        onChange={(event) => onChange(event.target.value)}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
      {about !== undefined && (
        <p id={`${id}-about`} className={error === undefined ? 'field-hint' : 'field-error'}>
          {about}
        </p>
      )}
    </div>
  );
}
