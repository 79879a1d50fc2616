import { useQuery } from '@tanstack/react-query';
import { text } from '../../text/en.js';
import { RelativeTime } from '../../ui/relative-time.js';
import { Status } from '../../ui/status.js';
import { type Action, findings } from './queries.js';

const words = text.device;
const TONES = { stuck: 'bad', attention: 'warn', info: 'none' } as const;

/** What is wrong, and the cure as a button. */
export function Diagnosis({ id, onAction }: { id: number; onAction: (action: Action) => void }) {
  const { data, error } = useQuery(findings(id));
  return (
    <section aria-labelledby="diagnosis-heading">
      <h2 id="diagnosis-heading">{words.diagnosis}</h2>
      {error !== null && <p role="alert">{error.message}</p>}
      {data?.length === 0 && <Status tone="good" label={words.healthy} />}
      {data?.map(({ code, severity, since, message, advice, action }) => (
        <div key={code} className="finding">
          <p>
            <Status tone={TONES[severity]} label={words.severities[severity]} />{' '}
            <RelativeTime time={since} />
          </p>
          <p>{message}</p>
          <p>{advice}</p>
          {action !== null && (
            <button type="button" data-kind="primary" onClick={() => onAction(action)}>
              {words.cure(action.path)}
            </button>
          )}
        </div>
      ))}
    </section>
  );
}
