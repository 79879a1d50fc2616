import { type ReactNode, useState } from 'react';
import { DialogTrigger } from 'react-aria-components/Dialog';
import { Popover as AriaPopover } from 'react-aria-components/Popover';
import { Button } from './button';
import './popover.css';

interface Props {
  label: string;
  /** What opens is a menu, which the down arrow opens, too. */
  hasMenu?: boolean;
  children: (close: () => void) => ReactNode;
}

/** A button that opens what stands below it. Escape and a click elsewhere close it. */
export function Popover({ label, hasMenu = false, children }: Props) {
  const [isOpen, setOpen] = useState(false);
  const onKeyDown = ({ key }: { key: string }) => {
    if (hasMenu && key === 'ArrowDown') setOpen(true);
  };
  return (
    <DialogTrigger isOpen={isOpen} onOpenChange={setOpen}>
      <Button aria-haspopup={hasMenu ? 'menu' : undefined} onKeyDown={onKeyDown}>
        {label}
        <svg viewBox="0 0 16 16" width="12" height="12" aria-hidden="true">
          <path d="M4 6l4 4 4-4" fill="none" stroke="currentColor" strokeWidth="2" />
        </svg>
      </Button>
      <AriaPopover className="popover" placement="bottom end" aria-label={label}>
        {children(() => setOpen(false))}
      </AriaPopover>
    </DialogTrigger>
  );
}
