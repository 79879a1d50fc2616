import { useState } from 'react';
import { useMay } from '../../api/rights';
import { marksText as words } from '../../text/marks';
import { Button } from '../../ui/button';
import { MarkDialog } from './mark-dialog';

interface Props {
  /** Undefined: all that match, which the API cannot tag at once. */
  ids: ReadonlySet<number> | undefined;
}

/** "Tag or group …" for the selected devices. */
export function MarkSelection({ ids }: Props) {
  const [isOpen, setOpen] = useState(false);
  const [result, setResult] = useState('');
  const canMark = useMay()('addTagDevices');
  if (!canMark) return null;
  if (ids === undefined) return <span className="soft">{words.notAll}</span>;
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
      {isOpen && <MarkDialog ids={[...ids]} onClose={() => setOpen(false)} onDone={done} />}
    </>
  );
}
