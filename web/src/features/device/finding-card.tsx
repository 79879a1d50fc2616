import { useQuery } from '@tanstack/react-query';
import { ActionError } from '../../api/action-error';
import { meQuery } from '../../api/me';
import { useMay } from '../../api/rights';
import { deletionText } from '../../text/deletion';
import { deviceText as words } from '../../text/device';
import { adviceOf } from '../../text/own-words';
import { Button } from '../../ui/button';
import { Status, type Tone } from '../../ui/status';
import { Time } from '../../ui/time';
import { Sent } from './actions/sent';
import { type Finding, useSend } from './queries';

const TONES: Record<Finding['severity'], Tone> = { stuck: 'bad', attention: 'warn', info: 'soft' };

/** Of a device that may be retired: its advice is to delete the record. */
const RETIRED = ['erased', 'unenrolled'];

interface Props {
  id: number;
  finding: Finding;
  /** Opens the dialog that asks about it. */
  onDelete: () => void;
}

/** One finding in a sentence, with the request that the server proposes as a button. */
export function FindingCard({ id, finding, onDelete }: Props) {
  const { code, severity, since, message, action } = finding;
  const send = useSend(id);
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
      <p className="soft">{adviceOf(finding)}</p>
      {send.error !== null && <ActionError error={send.error} />}
      <div className="finding-action">
        {action !== null && canSend && (
          <Button isPending={send.isPending} onPress={() => send.mutate(action)}>
            {words.cure(action.path)}
          </Button>
        )}
        {RETIRED.includes(code) && me?.role === 'admin' && (
          <Button onPress={onDelete}>{deletionText.open}</Button>
        )}
        <span role="status">{send.isSuccess && <Sent device={id} answer={send.data} />}</span>
      </div>
    </article>
  );
}
