import { deviceText as words } from '../../../text/device';
import type { PlainColumn } from '../../../ui/plain-table';
import type { ListRow } from '../queries';
import { Named, YesNo } from './cells';
import { ListTab } from './list-tab';

const COLUMNS: PlainColumn<ListRow<'installed_profiles'>>[] = [
  {
    name: 'name',
    label: words.columns.name,
    cell: ({ payload_display_name: name, payload_identifier: identifier }) => (
      <Named name={name} note={identifier} />
    ),
  },
  {
    name: 'organization',
    label: words.columns.organization,
    isMinor: true,
    cell: ({ payload_organization: organization }) => organization ?? '–',
  },
  {
    name: 'managed',
    label: words.columns.managed,
    isTight: true,
    cell: ({ is_managed: isManaged }) => <YesNo value={isManaged} />,
  },
  {
    name: 'removable',
    label: words.columns.removable,
    isTight: true,
    isMinor: true,
    cell: ({ payload_removal_disallowed: isFixed }) => (
      <YesNo value={typeof isFixed === 'boolean' ? !isFixed : isFixed} />
    ),
  },
];

export function ProfilesTab({ id }: { id: number }) {
  return (
    <ListTab
      id={id}
      name="installed_profiles"
      label={words.tab.profiles}
      empty={words.empty.profiles}
      columns={COLUMNS}
    />
  );
}
