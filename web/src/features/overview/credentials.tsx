import { overviewText as words } from '../../text/overview';
import { Notice } from '../../ui/notice';
import { Status } from '../../ui/status';

interface Credential {
  kind: string;
  name: string;
  status: string;
  days_left: number;
  not_after: string;
}

interface Props {
  credentials: Credential[];
  warnings: { code: string; detail: string }[];
}

/** What ends first stands first. */
export function Credentials({ credentials, warnings }: Props) {
  const byEnd = [...credentials].sort((a, b) => a.days_left - b.days_left);
  return (
    <>
      <ul className="lines">
        {byEnd.map((entry) => (
          <li key={`${entry.kind} ${entry.name}`} title={entry.not_after}>
            <span className="line-name" title={entry.name}>
              {sentence(entry.kind)}
            </span>
            <Status tone={toneOf(entry.status)}>
              {entry.status === 'expired' ? words.expired : words.expiresIn(entry.days_left)}
            </Status>
          </li>
        ))}
      </ul>
      {warnings.map(({ code, detail }) => (
        <Notice key={code} tone="warn" title={detail} />
      ))}
    </>
  );
}

function toneOf(status: string): 'ok' | 'warn' | 'bad' {
  if (status === 'ok') return 'ok';
  return status === 'expired' ? 'bad' : 'warn';
}

/** `push_certificate` reads "Push certificate". */
function sentence(name: string): string {
  const words = name.replaceAll('_', ' ').replace(/\b(dep|ssl)\b/, (word) => word.toUpperCase());
  return words.charAt(0).toUpperCase() + words.slice(1);
}
