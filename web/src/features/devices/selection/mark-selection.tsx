import { useState } from 'react';
import { useMay } from '../../../api/rights';
import { marksText as words } from '../../../text/marks';
import { Button } from '../../../ui/button';
import { MarkDialog } from './mark-dialog';
import type { Target } from './target';

/** "Tag or group …" for the selected devices. */
export function MarkSelection({ target }: { target: Target }) {
  const [isOpen, setOpen] = useState(false);
  const [result, setResult] = useState('');
  const canMark = useMay()('addTagDevices');
  if (!canMark) return null;
  const done = (said: string) => {
    setResult(said);
    setOpen(false);
  };
  return (
    <>
      <Button onPress={() => setOpen(true)}>{words.open}</Button>
      <span role="status" className="soft">
        {result}
      </span>
      {isOpen && <MarkDialog target={target} onClose={() => setOpen(false)} onDone={done} />}
    </>
  );
}
