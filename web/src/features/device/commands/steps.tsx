import { PageLinks } from '../../../api/page-links';
import { deviceText } from '../../../text/device';
import { stepAdvice } from '../../../text/own-words';
import { Time } from '../../../ui/time';

const words = deviceText.command;

interface Step {
  time: string | null;
  code: string;
  message: string;
  advice: string | null;
}

/** In order of time; the last one of a command that waits says why. */
export function Steps({ steps }: { steps: readonly Step[] }) {
  return (
    <ol className="steps">
      {steps.map(({ time, code, message, advice }) => (
        <li className="step" key={`${code} ${code.startsWith('waiting') ? '' : time}`}>
          <span className="soft">{timeOf(code, time)}</span>
          <span>
            {message}
            {advice !== null && (
              <span className="row-note">
                {stepAdvice(advice)}
                <PageLinks text={advice} />
              </span>
            )}
          </span>
        </li>
      ))}
    </ol>
  );
}

function timeOf(code: string, time: string | null) {
  if (code.startsWith('waiting')) return words.now;
  return time === null ? words.notRecorded : <Time at={time} />;
}
