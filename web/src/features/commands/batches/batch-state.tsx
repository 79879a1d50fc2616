import { batchesText } from '../../../text/batches';
import { Status, type Tone } from '../../../ui/status';

const STATUSES: Record<string, Tone> = {
  Acknowledged: 'ok',
  Error: 'bad',
  CommandFormatError: 'bad',
  Expired: 'bad',
  NotNow: 'warn',
};

export function BatchState({ state }: { state: string | null | undefined }) {
  const name = state ?? '';
  return (
    <Status tone={name === 'finished' ? 'ok' : 'soft'}>{batchesText.states[name] ?? name}</Status>
  );
}

export function CommandStatus({ status }: { status: string | undefined }) {
  const name = status ?? '';
  return <Status tone={STATUSES[name] ?? 'soft'}>{batchesText.statuses[name] ?? name}</Status>;
}
