import type { ReactNode } from 'react';
import { Button as AriaButton, type ButtonProps } from 'react-aria-components/Button';
import './button.css';

interface Props extends Omit<ButtonProps, 'children' | 'className'> {
  kind?: 'plain' | 'main' | 'danger' | 'quiet';
  children: ReactNode;
}

/** While it is pending it keeps the focus and does nothing; React Aria would announce it without a name. */
export function Button({ kind = 'plain', isPending = false, children, ...rest }: Props) {
  const pending = isPending
    ? { type: 'button' as const, onPress: () => undefined, 'aria-disabled': true }
    : {};
  return (
    <AriaButton
      {...rest}
      {...pending}
      className="button"
      data-kind={kind}
      data-pending={isPending || undefined}
    >
      {children}
    </AriaButton>
  );
}
