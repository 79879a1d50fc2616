import { useEffect, useRef, useState } from 'react';
import { useMay } from '../../api/rights';
import { setUpText } from '../../text/set-up';
import { Button } from '../../ui/button';
import { PushRequest } from './push-request';
import { PushUpload } from './push-upload';
import { Step } from './step';

interface Report {
  credentials: { kind: string; name: string; status: string; days_left: number }[];
  warnings: { code: string; detail: string }[];
}

const words = setUpText.push;
const USABLE = ['ok', 'expiring'];

/** The request, then Apple's answer. */
export function PushStep({ report }: { report: Report }) {
  const current = report.credentials.find(
    ({ kind, status }) => kind === 'push_certificate' && USABLE.includes(status),
  );
  const isLab = report.warnings.some(({ code }) => code === 'lab_on');
  const mayUpload = useMay()('createPushCertificate');
  const [isOpen, setOpen] = useState(false);
  const [result, setResult] = useState('');
  const pair = useRef<HTMLDivElement>(null);
  // The button that opened it is gone.
  useEffect(() => {
    if (isOpen) pair.current?.focus();
  }, [isOpen]);
  const finish = () => {
    setResult(words.uploaded);
    setOpen(false);
  };
  const isDone = current !== undefined && current.status === 'ok';
  return (
    <Step title={words.title} why={words.why} state={isDone ? 'done' : 'open'}>
      {current !== undefined && <p>{words.current(current.name, current.days_left)}</p>}
      {isLab && <p className="soft">{words.lab}</p>}
      <p role="status" className={result === '' ? 'visually-hidden' : ''}>
        {result}
      </p>
      {!mayUpload && <p className="soft">{setUpText.needsAdmin}</p>}
      {mayUpload && isDone && !isOpen && (
        <div>
          <Button onPress={() => setOpen(true)}>{words.renew}</Button>
        </div>
      )}
      {mayUpload && (!isDone || isOpen) && (
        <div ref={pair} className="set-up-pair" tabIndex={-1}>
          <PushRequest />
          <PushUpload onDone={finish} />
        </div>
      )}
    </Step>
  );
}
