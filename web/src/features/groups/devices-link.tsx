import { Link } from '@tanstack/react-router';
import { groupsText as words } from '../../text/groups';

interface Props {
  name: string;
  count: number;
  /** As a chip of the device list: attribute, operator and value. */
  filter: string;
}

/** A count that opens the devices it counts. */
export function DevicesLink({ name, count, filter }: Props) {
  return (
    <Link to="/devices" search={{ f: [filter] }} aria-label={words.showDevices(name, count)}>
      {count.toLocaleString('en')}
    </Link>
  );
}
