import { deviceText } from '../../text/device';
import { Notice } from '../../ui/notice';
import { Time } from '../../ui/time';

const words = deviceText.erased;

/** An erased device cannot say that its enrollment has ended: the record stays as it is. */
export function Erased({ at }: { at: string }) {
  return (
    <Notice tone="warn" title={words.title}>
      <p>
        <Time at={at} />. {words.why}
      </p>
    </Notice>
  );
}
