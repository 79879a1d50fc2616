import { useState } from 'react';
import { Button } from './button';
import './shell-line.css';

interface Props {
  line: string;
  copy: string;
  copied: string;
}

/** A line for a terminal, with a button that copies it. */
export function ShellLine({ line, copy, copied }: Props) {
  const [isCopied, setCopied] = useState(false);
  const onCopy = async () => {
    await navigator.clipboard?.writeText(line);
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  return (
    <div className="shell-line">
      <code>{line}</code>
      <Button kind="quiet" aria-label={`${copy}: ${line}`} onPress={() => void onCopy()}>
        {isCopied ? copied : copy}
      </Button>
    </div>
  );
}
