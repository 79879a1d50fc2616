import { useId, useState } from 'react';
import { deviceText } from '../../../text/device';
import { Status, type Tone } from '../../../ui/status';
import { Time } from '../../../ui/time';
import type { ListRow } from '../queries';
import { CommandDetail } from './command-detail';

const words = deviceText.command;
const TONES: Record<string, Tone> = {
  Acknowledged: 'ok',
  Error: 'bad',
  CommandFormatError: 'bad',
  Expired: 'bad',
  NotNow: 'warn',
};

interface Props {
  device: number;
  command: ListRow<'commands'>;
}

/** A line that opens. What it opens is read only then. */
export function CommandEntry({ device, command }: Props) {
  const [isOpen, setOpen] = useState(false);
  const detail = useId();
  const { id, request_type: requestType, status = 'Queued', queued_at: queued } = command;
  return (
    <>
      <button
        type="button"
        className="command-line"
        aria-expanded={isOpen}
        aria-controls={isOpen ? detail : undefined}
        onClick={() => setOpen(!isOpen)}
      >
        <svg viewBox="0 0 16 16" width="12" height="12" aria-hidden="true">
          <path d="M6 4l4 4-4 4" fill="none" stroke="currentColor" strokeWidth="2" />
        </svg>
        <span className="command-name">{requestType}</span>
        <Status tone={TONES[status] ?? 'soft'}>{words.statuses[status] ?? status}</Status>
        <span className="command-time soft">
          <Time at={queued} />
        </span>
      </button>
      {isOpen && (
        <div id={detail} className="command-detail">
          <CommandDetail device={device} id={id} />
        </div>
      )}
    </>
  );
}
