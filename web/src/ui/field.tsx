import type { HTMLInputTypeAttribute } from 'react';
import { Labelled, type LabelledProps } from './labelled';

interface Props extends LabelledProps {
  value: string;
  onChange: (value: string) => void;
  type?: HTMLInputTypeAttribute;
  required?: boolean;
  autoFocus?: boolean;
  autoComplete?: string;
  inputMode?: 'decimal';
  min?: number;
  max?: number;
}

export function Field({ label, hint, error, value, onChange, type = 'text', ...rest }: Props) {
  return (
    <Labelled label={label} hint={hint} error={error}>
      {(marks) => (
        <input
          {...rest}
          {...marks}
          type={type}
          value={value}
          spellCheck={false}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Labelled>
  );
}

interface ChoiceProps extends LabelledProps {
  value: string;
  onChange: (value: string) => void;
  options: readonly { value: string; label: string }[];
}

export function Choice({ label, hint, error, value, onChange, options }: ChoiceProps) {
  return (
    <Labelled label={label} hint={hint} error={error}>
      {(marks) => (
        <select {...marks} value={value} onChange={(event) => onChange(event.target.value)}>
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.label}
            </option>
          ))}
        </select>
      )}
    </Labelled>
  );
}
