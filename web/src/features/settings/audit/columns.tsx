import { Link } from '@tanstack/react-router';
import { settingsText } from '../../../text/settings';
import { JsonBlock } from '../../../ui/json-block';
import type { PlainColumn } from '../../../ui/plain-table';
import { Status } from '../../../ui/status';
import { Time } from '../../../ui/time';
import type { AuditEvent } from './queries';

const words = settingsText.audit;

export const AUDIT_COLUMNS: PlainColumn<AuditEvent>[] = [
  { name: 'at', label: words.at, isTight: true, cell: ({ at }) => <Time at={at} /> },
  {
    name: 'who',
    label: words.who,
    isMinor: true,
    cell: ({ actor, role }) => (
      <>
        {actor}
        {role !== actor && <span className="settings-note">{role}</span>}
      </>
    ),
  },
  {
    name: 'what',
    label: words.what,
    cell: (event) => (
      <>
        {event.action}
        <Details event={event} />
      </>
    ),
  },
  {
    name: 'target',
    label: words.target,
    isMinor: true,
    cell: (event) => <Target {...event} />,
  },
  {
    name: 'outcome',
    label: words.outcome,
    isTight: true,
    isMinor: true,
    cell: ({ outcome }) => (
      <Status tone={outcome === 'success' ? 'ok' : 'bad'}>
        {words.outcomes[outcome ?? ''] ?? String(outcome)}
      </Status>
    ),
  },
];

function Target({ target_type: type, target_id: id }: AuditEvent) {
  if (type === null || type === undefined) return <span className="soft">–</span>;
  const said = id === null || id === undefined ? type : `${type} ${id}`;
  if (type !== 'devices' || id === null || id === undefined) return <span>{said}</span>;
  return (
    <Link to="/devices/$id" params={{ id }}>
      {said}
    </Link>
  );
}

function Details({ event }: { event: AuditEvent }) {
  const target = [event.target_type, event.target_id].filter((part) => part !== null).join(' ');
  const lines = [
    [words.target, target],
    [words.who, event.actor],
    [words.from, event.source_address],
    [words.request, event.request_id],
    [words.session, event.session_id],
  ].flatMap(([name, value]) =>
    value === null || value === undefined ? [] : [`${name}: ${value}`],
  );
  return (
    <details>
      <summary className="audit-summary">{words.details}</summary>
      {lines.map((line) => (
        <p key={line} className="soft">
          {line}
        </p>
      ))}
      <JsonBlock label={words.details} value={event.details} />
    </details>
  );
}
