import { type ReactNode, useId } from 'react';
import './field.css';

export interface LabelledProps {
  label: ReactNode;
  hint?: string | undefined;
  error?: string | undefined;
}

/** What ties the control to its label, and to the hint or the error below it. */
interface Marks {
  id: string;
  'aria-invalid': true | undefined;
  'aria-describedby': string | undefined;
}

interface Props extends LabelledProps {
  children: (marks: Marks) => ReactNode;
}

/** A label above a control; below it a hint, or in its place an error. */
export function Labelled({ label, hint, error, children }: Props) {
  const id = useId();
  const isDescribed = error !== undefined || hint !== undefined;
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({
        id,
        'aria-invalid': error === undefined ? undefined : true,
        'aria-describedby': isDescribed ? `${id}-about` : undefined,
      })}
      <About id={`${id}-about`} hint={hint} error={error} />
    </div>
  );
}

interface AboutProps {
  id: string;
  hint: string | undefined;
  error: string | undefined;
}

/** An error is announced: its field may have the focus already. */
export function About({ id, hint, error }: AboutProps) {
  const about = error ?? hint;
  if (about === undefined) return null;
  return (
    <p
      id={id}
      className={error === undefined ? 'field-hint' : 'field-error'}
      role={error === undefined ? undefined : 'alert'}
    >
      {about}
    </p>
  );
}
