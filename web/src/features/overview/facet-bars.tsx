import { Link } from '@tanstack/react-router';
import { overviewText as words } from '../../text/overview';

interface Props {
  name: string;
  /** Of the devices that are counted, beside the value and that they are enrolled. */
  rules?: readonly string[];
  total: number;
  values: { value: string | boolean | null; count: number }[];
  other: number;
}

const SHOWN = 8;
const ENROLLED = 'is_enrolled~eq~true';

/** The most frequent values, each a link to its devices. */
export function FacetBars({ name, rules = [], total, values, other }: Props) {
  const shown = values.slice(0, SHOWN);
  const rest = values.slice(SHOWN).reduce((sum, { count }) => sum + count, other);
  return (
    <ul className="bars">
      {shown.map(({ value, count }) => (
        <li key={String(value)}>
          <Link
            to="/devices"
            search={{ f: [ENROLLED, ...rules, rule(name, value)] }}
            className="bar"
          >
            <span className="line-name">{value === null ? words.unknown : String(value)}</span>
            <span className="number">{count.toLocaleString('en')}</span>
            <meter min={0} max={Math.max(total, 1)} value={count} aria-hidden="true" />
          </Link>
        </li>
      ))}
      {rest > 0 && (
        <li className="bar soft">
          <span>{words.other}</span>
          <span className="number">{rest.toLocaleString('en')}</span>
        </li>
      )}
    </ul>
  );
}

function rule(name: string, value: string | boolean | null): string {
  return value === null ? `${name}~empty~` : `${name}~eq~${value}`;
}
