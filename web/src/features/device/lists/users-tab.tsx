import { deviceText as words } from '../../../text/device';
import type { PlainColumn } from '../../../ui/plain-table';
import type { ListRow } from '../queries';
import { Named, YesNo } from './cells';
import { ListTab } from './list-tab';

const COLUMNS: PlainColumn<ListRow<'local_users'>>[] = [
  {
    name: 'name',
    label: words.columns.name,
    cell: ({ full_name: name, user_name: short }) => <Named name={name} note={short} />,
  },
  {
    name: 'uid',
    label: words.columns.uid,
    isNumber: true,
    isTight: true,
    isMinor: true,
    cell: ({ uid }) => uid ?? '–',
  },
  {
    name: 'signedIn',
    label: words.columns.signedIn,
    isTight: true,
    cell: ({ is_logged_in: isSignedIn }) => <YesNo value={isSignedIn} />,
  },
  {
    name: 'secureToken',
    label: words.columns.secureToken,
    isTight: true,
    cell: ({ has_secure_token: hasToken }) => <YesNo value={hasToken} />,
  },
];

export function UsersTab({ id }: { id: number }) {
  return (
    <ListTab
      id={id}
      name="local_users"
      label={words.tab.users}
      empty={words.empty.users}
      columns={COLUMNS}
    />
  );
}
