import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { commandsText } from '../../../text/commands';
import { deviceNamesQuery } from './queries';

interface Props {
  /** Of the first devices. */
  ids: readonly number[];
  count: number;
}

const SHOWN = 3;

/** Names of some devices, each a link. */
export function Examples({ ids, count }: Props) {
  const shown = ids.slice(0, SHOWN);
  const { data } = useQuery({ ...deviceNamesQuery(shown), enabled: shown.length > 0 });
  const names = new Map(
    data?.map(({ id, device_name: name, serial_number: serial }) => [id, name ?? serial]),
  );
  const rest = count - shown.length;
  return (
    <ul className="examples">
      {shown.map((id) => (
        <li key={id}>
          <Link to="/devices/$id" params={{ id: String(id) }}>
            {names.get(id) ?? commandsText.targets.unnamed(id)}
          </Link>
        </li>
      ))}
      {rest > 0 && <li className="soft">{commandsText.dryRun.more(rest)}</li>}
    </ul>
  );
}
