import { Link } from '@tanstack/react-router';
import { overviewText as words } from '../../text/overview';
import { sentenceOf } from '../../text/sentence';
import { Status } from '../../ui/status';

interface Credential {
  kind: string;
  name: string;
  status: string;
  days_left: number;
  not_after: string;
}

/** What ends first stands first. */
export function Credentials({ credentials }: { credentials: Credential[] }) {
  const byEnd = [...credentials].sort((a, b) => a.days_left - b.days_left);
  return (
    <ul className="lines">
      {byEnd.map((entry) => (
        <li key={`${entry.kind} ${entry.name}`} title={entry.not_after}>
          <Link to="/settings/certificates" className="line-name" title={entry.name}>
            {sentenceOf(entry.kind)}
          </Link>
          <Status tone={toneOf(entry.status)}>
            {entry.status === 'expired' ? words.expired : words.expiresIn(entry.days_left)}
          </Status>
        </li>
      ))}
    </ul>
  );
}

function toneOf(status: string): 'ok' | 'warn' | 'bad' {
  if (status === 'ok') return 'ok';
  return status === 'expired' ? 'bad' : 'warn';
}
