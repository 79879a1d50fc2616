import type { ReactNode } from 'react';
import './notice.css';

interface Props {
  kind?: 'error' | 'empty';
  /** What happened, and below it the details. */
  lines: string[];
  children?: ReactNode;
}

export function Notice({ kind = 'empty', lines, children }: Props) {
  return (
    <div className="notice" data-kind={kind} role={kind === 'error' ? 'alert' : 'status'}>
      {lines.map((line) => (
        <p key={line}>{line}</p>
      ))}
      {children}
    </div>
  );
}
