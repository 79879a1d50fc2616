import type { ReactNode } from 'react';
import type { Condition } from './keys';

interface Props {
  condition: Condition;
  error: string | undefined;
  children: ReactNode;
}

/** Keys one of which is needed, below the sentence that says so. */
export function NeededKeys({ condition, error, children }: Props) {
  return (
    <fieldset className="key-group" data-invalid={error !== undefined || undefined}>
      <legend>{condition.text}</legend>
      {error !== undefined && <p className="field-error">{error}</p>}
      {children}
    </fieldset>
  );
}
