import { type ReactNode, useEffect, useRef } from 'react';
import './tabs.css';

interface Props {
  label: string;
  /** The part that is shown: its tab is scrolled into view. */
  current: string;
  children: ReactNode;
}

/** Links to the parts of a page, in one row that scrolls sideways; each child has the class `tab`. */
export function Tabs({ label, current, children }: Props) {
  const row = useRef<HTMLElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only another part moves the row.
  useEffect(() => {
    if (row.current !== null) showCurrent(row.current);
  }, [current]);
  return (
    <nav ref={row} className="tabs" aria-label={label}>
      {children}
    </nav>
  );
}

/** Unlike `scrollIntoView`, this leaves the page itself where it is. */
function showCurrent(row: HTMLElement): void {
  const tab = row.querySelector('[aria-current]');
  if (tab === null) return;
  const { left, width } = tab.getBoundingClientRect();
  row.scrollLeft += left + width / 2 - row.getBoundingClientRect().left - row.clientWidth / 2;
}
