import type { ReactNode } from 'react';
import './notice.css';

interface Props {
  tone?: 'soft' | 'warn' | 'bad' | 'ok';
  title: string;
  children?: ReactNode;
}

/** What happened and what to do, in place of or above what it concerns. */
export function Notice({ tone = 'soft', title, children }: Props) {
  return (
    <div className="notice" data-tone={tone} role={tone === 'bad' ? 'alert' : undefined}>
      <p className="notice-title">{title}</p>
      {children}
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <p className="notice-title">{title}</p>
      {children}
    </div>
  );
}

/** Holds the place of `lines` rows while they load. */
export function Skeleton({ lines = 3 }: { lines?: number | undefined }) {
  return (
    <div className="skeleton" aria-hidden="true">
      {Array.from({ length: lines }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines have no identity
        <span key={index} />
      ))}
    </div>
  );
}
