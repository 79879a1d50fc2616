import { useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { text } from '../text/en';
import { Dialog } from '../ui/dialog';
import { Facts } from '../ui/facts';

const GO = { o: '/', d: '/devices', c: '/commands', t: '/groups', s: '/settings' } as const;

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest('input, textarea, select') !== null;
}

/** `/` searches, `g` and a letter goes to a page, `?` lists the keys. */
export function Shortcuts() {
  const [isOpen, setOpen] = useState(false);
  const navigate = useNavigate();
  useEffect(() => {
    let former = '';
    const onKey = (event: KeyboardEvent) => {
      if (isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
      const { key } = event;
      if (former === 'g' && key in GO) void navigate({ to: GO[key as keyof typeof GO] });
      if (key === '?') setOpen(true);
      if (key === '/') {
        event.preventDefault();
        void navigate({ to: '/devices' }).then(() => document.getElementById('search')?.focus());
      }
      former = key;
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [navigate]);
  return (
    <Dialog title={text.keys.title} isOpen={isOpen} onClose={() => setOpen(false)}>
      <Facts entries={text.keys.list.map(([keys, what]) => [what, <kbd key={keys}>{keys}</kbd>])} />
    </Dialog>
  );
}
