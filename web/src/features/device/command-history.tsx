import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { text } from '../../text/en.js';
import { RelativeTime } from '../../ui/relative-time.js';
import { Status, type Tone } from '../../ui/status.js';
import { commands, timeline } from './queries.js';

const words = text.device;
const TONES: Record<string, Tone> = {
  Acknowledged: 'good',
  Error: 'bad',
  CommandFormatError: 'bad',
  Expired: 'bad',
  NotNow: 'warn',
};

export function CommandHistory({ id }: { id: number }) {
  const { data, error } = useQuery(commands(id));
  return (
    <section aria-labelledby="commands-heading">
      <h2 id="commands-heading">{words.commands}</h2>
      {error !== null && <p role="alert">{error.message}</p>}
      {data?.length === 0 && <p>{words.noCommands}</p>}
      {data?.map((command) => {
        const { request_type, status, queued_at } = command.attributes ?? {};
        return (
          <Entry key={Number(command.id)} id={Number(command.id)}>
            <span>{request_type}</span>
            <Status tone={TONES[status ?? ''] ?? 'none'} label={status ?? ''} />
            <RelativeTime time={queued_at} />
          </Entry>
        );
      })}
    </section>
  );
}

function Entry({ id, children }: { id: number; children: React.ReactNode }) {
  const [isOpen, setOpen] = useState(false);
  const { data } = useQuery({ ...timeline(id), enabled: isOpen });
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{children}</summary>
      <ol>
        {data?.map((step) => (
          <li key={`${step.code} ${step.time}`}>
            {step.message} {step.advice}
          </li>
        ))}
      </ol>
    </details>
  );
}
