import { useState } from 'react';
import { Button } from './button';
import './shell-line.css';

interface Props {
  command: string;
  copy: string;
  copied: string;
}

/** A command for a terminal, with a button that copies it. */
export function ShellLine({ command, copy, copied }: Props) {
  const [isCopied, setCopied] = useState(false);
  const onCopy = async () => {
    await navigator.clipboard?.writeText(command);
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  return (
    <div className="shell-line">
      <code>{command}</code>
      <Button kind="quiet" aria-label={`${copy}: ${command}`} onPress={() => void onCopy()}>
        {isCopied ? copied : copy}
      </Button>
    </div>
  );
}
