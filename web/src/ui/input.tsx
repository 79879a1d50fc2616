import type { HTMLInputTypeAttribute } from 'react';
import './select.css';

interface Props {
  label: string;
  value: string;
  onChange: (value: string) => void;
  type?: HTMLInputTypeAttribute;
  placeholder?: string;
  min?: number;
}

/** A text within a line: its label is for screen readers alone. */
export function Input({ label, onChange, type = 'text', ...rest }: Props) {
  return (
    <input
      {...rest}
      className="input"
      type={type}
      aria-label={label}
      spellCheck={false}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}
