import { type HTMLInputTypeAttribute, useId } from 'react';
import { About } from './labelled';
import './select.css';

interface Props {
  label: string;
  value: string;
  onChange: (value: string) => void;
  type?: HTMLInputTypeAttribute;
  placeholder?: string;
  min?: number;
  error?: string | undefined;
}

/** A text within a line: its label is for screen readers alone. Below it an error. */
export function Input({ label, onChange, type = 'text', error, ...rest }: Props) {
  const id = useId();
  return (
    <div className="input-cell">
      <input
        {...rest}
        className="input"
        type={type}
        aria-label={label}
        aria-invalid={error === undefined ? undefined : true}
        aria-describedby={error === undefined ? undefined : id}
        spellCheck={false}
        onChange={(event) => onChange(event.target.value)}
      />
      <About id={id} hint={undefined} error={error} />
    </div>
  );
}
