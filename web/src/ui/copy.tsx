import { useState } from 'react';
import './copy.css';

/** Text that a click copies. */
export function Copy({ text, label }: { text: string; label: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard?.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  return (
    <button type="button" className="copy" title={label} onClick={() => void copy()}>
      <code>{text}</code>
      <span aria-live="polite">{copied ? ' ✓' : ''}</span>
    </button>
  );
}
