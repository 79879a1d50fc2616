import { useId } from 'react';
import { About } from './labelled';
import './field.css';

interface Props {
  label: string;
  accept: string;
  onChange: (file: File | undefined) => void;
  hint?: string | undefined;
  error?: string | undefined;
}

export function FileField({ label, accept, onChange, hint, error }: Props) {
  const id = useId();
  const isDescribed = error !== undefined || hint !== undefined;
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        type="file"
        accept={accept}
        aria-invalid={error === undefined ? undefined : true}
        aria-describedby={isDescribed ? `${id}-about` : undefined}
        onChange={(event) => onChange(event.target.files?.[0])}
      />
      <About id={`${id}-about`} hint={hint} error={error} />
    </div>
  );
}
