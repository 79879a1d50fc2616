import type { ReactNode } from 'react';
import './tabs.css';

/** Links to the parts of a page; each child has the class `tab`. */
export function Tabs({ label, children }: { label: string; children: ReactNode }) {
  return (
    <nav className="tabs" aria-label={label}>
      {children}
    </nav>
  );
}
