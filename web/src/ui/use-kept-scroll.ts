import { type RefObject, useEffect, useLayoutEffect, useRef } from 'react';

const KEY = 'lists.scroll';
/** The lists that were scrolled last. */
const MOST = 50;

/** Pixels that each list is scrolled by. The tab keeps them while the document is loaded again. */
const OFFSETS = new Map<string, number>(storedOffsets());
window.addEventListener('pagehide', storeOffsets);

const BY_HAND = ['wheel', 'pointerdown', 'keydown'] as const;

export function keptOffset(list: string): number {
  return OFFSETS.get(list) ?? 0;
}

/** Scrolls a list to where it was left, as soon as enough rows are read, and keeps how far it is scrolled. */
export function useKeptScroll(
  scroller: RefObject<HTMLElement | null>,
  list: string,
  rows: number,
): void {
  const wanted = useRef<number | undefined>(keptOffset(list));
  // biome-ignore lint/correctness/useExhaustiveDependencies: more rows make the list longer
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null || wanted.current === undefined) return;
    element.scrollTop = wanted.current;
    if (element.scrollHeight - element.clientHeight >= wanted.current) wanted.current = undefined;
  }, [scroller, rows]);
  useEffect(() => {
    const element = scroller.current;
    const keep = () => {
      if (wanted.current === undefined) OFFSETS.set(list, element?.scrollTop ?? 0);
    };
    const stop = () => {
      wanted.current = undefined;
    };
    element?.addEventListener('scroll', keep);
    for (const name of BY_HAND) element?.addEventListener(name, stop, { passive: true });
    return () => {
      element?.removeEventListener('scroll', keep);
      for (const name of BY_HAND) element?.removeEventListener(name, stop);
    };
  }, [scroller, list]);
}

/** A browser may refuse to store anything: then the list begins at its top. */
function storedOffsets(): [string, number][] {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? '[]');
  } catch {
    return [];
  }
}

function storeOffsets(): void {
  try {
    sessionStorage.setItem(KEY, JSON.stringify([...OFFSETS].slice(-MOST)));
  } catch {
    // Nothing is lost but the place in a list.
  }
}
