import { type ReactNode, useEffect, useState } from 'react';

interface Props {
  title: string;
  /** Something inside needs attention: it opens. */
  isForced?: boolean;
  children: ReactNode;
}

export function Disclosure({ title, isForced = false, children }: Props) {
  const [isOpen, setOpen] = useState(isForced);
  useEffect(() => {
    if (isForced) setOpen(true);
  }, [isForced]);
  return (
    <details
      className="disclosure"
      open={isOpen}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>{title}</summary>
      <div className="disclosure-content">{children}</div>
    </details>
  );
}
