import type { ReactNode } from 'react';
import { Button as AriaButton, type ButtonProps } from 'react-aria-components/Button';
import './button.css';

interface Props extends Omit<ButtonProps, 'children' | 'className'> {
  kind?: 'plain' | 'main' | 'danger' | 'quiet';
  children: ReactNode;
}

export function Button({ kind = 'plain', children, ...rest }: Props) {
  return (
    <AriaButton {...rest} className="button" data-kind={kind}>
      {children}
    </AriaButton>
  );
}
