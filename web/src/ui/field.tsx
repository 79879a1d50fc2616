import type { HTMLInputTypeAttribute } from 'react';
import { useId } from 'react';
import './field.css';

interface Props {
  label: string;
  value: string;
  onChange: (value: string) => void;
  type?: HTMLInputTypeAttribute;
  hint?: string | undefined;
  error?: string | undefined;
  required?: boolean;
  autoFocus?: boolean;
  autoComplete?: string;
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
  label: string;
  value: string;
  onChange: (value: string) => void;
  options: readonly { value: string; label: string }[];
}

export function Choice({ label, value, onChange, options }: ChoiceProps) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => onChange(event.target.value)}>
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
    </div>
  );
}
