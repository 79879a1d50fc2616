import { useQuery } from '@tanstack/react-query';
import { ActionError } from '../../api/action-error';
import { meQuery } from '../../api/me';
import { PageLinks } from '../../api/page-links';
import { useMay } from '../../api/rights';
import { deletionText } from '../../text/deletion';
import { deviceText as words } from '../../text/device';
import { adviceOf } from '../../text/own-words';
import { Button } from '../../ui/button';
import { Status, type Tone } from '../../ui/status';
import { Time } from '../../ui/time';
import type { Finding } from './queries';

const TONES: Record<Finding['severity'], Tone> = { stuck: 'bad', attention: 'warn', info: 'soft' };

/** Of a device that may be retired: its advice is to delete the record. */
const RETIRED = ['erased', 'unenrolled'];

interface Props {
  finding: Finding;
  isSending: boolean;
  /** Why its request did not work. */
  error: Error | null;
  onSend: (action: NonNullable<Finding['action']>) => void;
  /** Opens the dialog that asks about it. */
  onDelete: () => void;
}

/** One finding in a sentence, with the request that the server proposes as a button. */
export function FindingCard({ finding, isSending, error, onSend, onDelete }: Props) {
  const { code, severity, since, message, action } = finding;
  const { data: me } = useQuery(meQuery);
  const canSend = useMay()('createDeviceCommand');
  return (
    <article className="finding">
      <p className="finding-head">
        <Status tone={TONES[severity]}>{words.severities[severity]}</Status>
        <span className="soft">
          {words.began} <Time at={since} />
        </span>
      </p>
      <p className="finding-message">{message}</p>
      <p className="soft">
        {adviceOf(finding)}
        <PageLinks text={finding.advice} />
      </p>
      {error !== null && <ActionError error={error} />}
      {action !== null && canSend && (
        <div>
          <Button isPending={isSending} onPress={() => onSend(action)}>
            {words.cure(action.path)}
          </Button>
        </div>
      )}
      {RETIRED.includes(code) && me?.role === 'admin' && (
        <div>
          <Button onPress={onDelete}>{deletionText.open}</Button>
        </div>
      )}
    </article>
  );
}
