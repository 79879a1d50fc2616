import { useId } from 'react';
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
  const about = error ?? hint;
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        type="file"
        accept={accept}
        aria-invalid={error === undefined ? undefined : true}
        aria-describedby={about === undefined ? undefined : `${id}-about`}
        onChange={(event) => onChange(event.target.files?.[0])}
      />
      {about !== undefined && (
        <p id={`${id}-about`} className={error === undefined ? 'field-hint' : 'field-error'}>
          {about}
        </p>
      )}
    </div>
  );
}
