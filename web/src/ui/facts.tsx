import type { ReactNode } from 'react';
import './facts.css';

export function Facts({ entries }: { entries: readonly [label: string, value: ReactNode][] }) {
  return (
    <dl className="facts">
      {entries.map(([label, value]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
