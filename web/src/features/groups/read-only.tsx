import { useQuery } from '@tanstack/react-query';
import { meQuery } from '../../api/me';
import { groupsText as words } from '../../text/groups';

/** Says which role changes need. */
export function ReadOnly() {
  const { data: me } = useQuery(meQuery);
  return <p className="soft">{words.readOnly(me?.role ?? '')}</p>;
}
