import { Link } from '@tanstack/react-router';
import { findingName } from '../../text/findings';
import { overviewText as words } from '../../text/overview';
import { Status, type Tone } from '../../ui/status';
import './overview.css';

type Health = { ok: number; attention: number; stuck: number };
const TONES = { stuck: 'bad', attention: 'warn', ok: 'ok' } as const;

export function HealthFigures({ health }: { health: Health }) {
  return (
    <ul className="figures" aria-label={words.health}>
      {(['stuck', 'attention', 'ok'] as const).map((state) => (
        <li key={state}>
          <Link to="/devices" search={{ f: [`health~eq~${state}`] }} className="figure">
            <Status tone={TONES[state]}>{words.states[state]}</Status>
            <span className="figure-number">{health[state].toLocaleString('en')}</span>
          </Link>
        </li>
      ))}
    </ul>
  );
}

interface Finding {
  code: string;
  severity: 'stuck' | 'attention' | 'info';
  count: number;
}

/** Each leads to its devices. */
export function Findings({ findings }: { findings: Finding[] }) {
  if (findings.length === 0) return <p className="soft">{words.noFindings}</p>;
  return (
    <ul className="lines">
      {findings.map(({ code, severity, count }) => (
        <li key={code}>
          <Link to="/devices" search={{ f: [`findings~has~${code}`] }} className="line">
            <Status tone={toneOf(severity)}>{findingName(code)}</Status>
            <span className="number">{count.toLocaleString('en')}</span>
          </Link>
        </li>
      ))}
    </ul>
  );
}

function toneOf(severity: Finding['severity']): Tone {
  return severity === 'info' ? 'soft' : TONES[severity];
}
