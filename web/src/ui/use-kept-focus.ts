import { type RefObject, useEffect } from 'react';

/** Dialogs give the focus back in the next frame. */
const PAUSE = 50;

interface Place {
  element: Element;
  /** Of a list or a table; or the buttons beside the heading of the page. */
  row: Element | null;
  list: Element | null;
  index: number;
  section: Element | null;
}

/**
 * Where an action removes the row or the button that has the focus, the focus goes to the row in its place,
 * else to the heading of its section or page. Without that it falls to the body, and Tab starts anew.
 */
export function useKeptFocus(page: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const main = page.current;
    if (main === null) return undefined;
    let place: Place | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const remember = ({ target }: Event) => {
      if (!(target instanceof Element)) return;
      if (main.contains(target)) place = placeOf(target);
      // What a dialog does concerns the row that opened it.
      else if (target.closest('[role="dialog"]') === null) place = undefined;
    };
    const restore = () => {
      timer = undefined;
      if (place === undefined || document.activeElement !== document.body) return;
      if (place.element.isConnected) (place.element as HTMLElement).focus({ preventScroll: true });
      else if (place.row !== null) successorOf(place, main)?.focus();
    };
    const observer = new MutationObserver(() => {
      timer ??= setTimeout(restore, PAUSE);
    });
    document.addEventListener('focusin', remember);
    document.addEventListener('pointerdown', remember);
    // Dialogs stand beside the page.
    observer.observe(document.body, { childList: true, subtree: true });
    return () => {
      document.removeEventListener('focusin', remember);
      document.removeEventListener('pointerdown', remember);
      observer.disconnect();
      clearTimeout(timer);
    };
  }, [page]);
}

function placeOf(element: Element): Place {
  const row = element.closest('tr, li, .page-aside');
  const list = row?.parentElement ?? null;
  const index = row === null ? -1 : [...(list?.children ?? [])].indexOf(row);
  return { element, row, list, index, section: element.closest('.section') };
}

function successorOf({ row, list, index, section }: Place, main: HTMLElement): HTMLElement | null {
  const rows = list?.isConnected ? [...list.children] : [];
  const next = row?.isConnected ? row : (rows[index] ?? rows.at(-1));
  const heading = section?.isConnected ? section.querySelector<HTMLElement>('h2') : null;
  return focusableOf(next) ?? heading ?? main.querySelector<HTMLElement>('h1');
}

/** The row itself, or what it offers first. */
function focusableOf(row: Element | undefined): HTMLElement | null {
  if (row === undefined) return null;
  if (row.matches('[tabindex]')) return row as HTMLElement;
  return row.querySelector<HTMLElement>('button:enabled, a[href]');
}
