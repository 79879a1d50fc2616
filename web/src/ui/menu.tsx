import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react';
import { Popover } from './popover';
import './menu.css';

export interface MenuItem {
  name: string;
  label: string;
  isDanger: boolean;
  /** Why it cannot be chosen; undefined: it can. */
  reason: string | undefined;
}

interface Props {
  label: string;
  items: readonly MenuItem[];
  onChoose: (name: string) => void;
}

/** A button with a menu: one stop for Tab; the arrows, Home, End and letters move in it. */
export function Menu({ label, items, onChoose }: Props) {
  return (
    <Popover label={label} hasMenu>
      {(close) => (
        <Items
          label={label}
          items={items}
          onChoose={(name) => {
            close();
            onChoose(name);
          }}
        />
      )}
    </Popover>
  );
}

/** Letters that follow within this time make one beginning of a word. */
const TYPING_PAUSE = 700;

function Items({ label, items, onChoose }: Props) {
  const menu = useRef<HTMLDivElement>(null);
  const typed = useRef({ text: '', at: 0 });
  const [current, setCurrent] = useState(0);
  const focus = (index: number) =>
    menu.current?.querySelectorAll<HTMLElement>('[role="menuitem"]')[index]?.focus();
  useEffect(() => {
    menu.current?.querySelector<HTMLElement>('[role="menuitem"]')?.focus({ preventScroll: true });
  }, []);
  const onKeyDown = (event: KeyboardEvent) => {
    const { key } = event;
    const at = indexOf(key, current, items.length);
    if (at !== undefined) {
      event.preventDefault();
      focus(at);
    } else if (isLetter(event)) {
      const { text, at: last } = typed.current;
      const isNew = event.timeStamp - last > TYPING_PAUSE;
      typed.current = { text: (isNew ? key : text + key).toLowerCase(), at: event.timeStamp };
      focus(indexOfText(typed.current.text, current, items));
    }
  };
  return (
    <div ref={menu} role="menu" aria-label={label} tabIndex={-1} onKeyDown={onKeyDown}>
      {items.map((item, index) => (
        <Item
          key={item.name}
          item={item}
          isCurrent={index === Math.min(current, items.length - 1)}
          onFocus={() => setCurrent(index)}
          onChoose={() => onChoose(item.name)}
        />
      ))}
    </div>
  );
}

interface ItemProps {
  item: MenuItem;
  isCurrent: boolean;
  onFocus: () => void;
  onChoose: () => void;
}

/** One that cannot be chosen keeps its place and can have the focus, so that its reason is read. */
function Item({ item, isCurrent, onFocus, onChoose }: ItemProps) {
  const id = useId();
  const { label, isDanger, reason } = item;
  const isPossible = reason === undefined;
  return (
    <div role="none">
      <button
        type="button"
        role="menuitem"
        className="menu-item"
        tabIndex={isCurrent ? 0 : -1}
        data-danger={isDanger || undefined}
        aria-disabled={!isPossible}
        aria-describedby={isPossible ? undefined : id}
        onFocus={onFocus}
        onClick={isPossible ? onChoose : undefined}
      >
        {label}
      </button>
      {reason !== undefined && (
        <span id={id} className="menu-reason">
          {reason}
        </span>
      )}
    </div>
  );
}

function indexOf(key: string, current: number, count: number): number | undefined {
  if (key === 'ArrowDown') return (current + 1) % count;
  if (key === 'ArrowUp') return (current - 1 + count) % count;
  if (key === 'Home') return 0;
  return key === 'End' ? count - 1 : undefined;
}

function isLetter({ key, ctrlKey, metaKey, altKey }: KeyboardEvent): boolean {
  return key.length === 1 && key !== ' ' && !ctrlKey && !metaKey && !altKey;
}

/** The next that begins so; one letter again and again leads from one to the next. */
function indexOfText(text: string, current: number, items: readonly MenuItem[]): number {
  const begins = (index: number, part: string) =>
    items[index % items.length]?.label.toLowerCase().startsWith(part) === true;
  const isOneLetter = [...text].every((letter) => letter === text[0]);
  const part = isOneLetter ? text.slice(0, 1) : text;
  for (let step = isOneLetter ? 1 : 0; step <= items.length; step += 1) {
    if (begins(current + step, part)) return (current + step) % items.length;
  }
  return current;
}
