import { deviceText as words } from '../../../text/device';
import type { PlainColumn } from '../../../ui/plain-table';
import type { ListRow } from '../queries';
import { Named, YesNo } from './cells';
import { ListTab } from './list-tab';

const MEGABYTE = 1_000_000;

const COLUMNS: PlainColumn<ListRow<'installed_applications'>>[] = [
  {
    name: 'name',
    label: words.columns.name,
    cell: ({ name, bundle_identifier: identifier }) => <Named name={name} note={identifier} />,
  },
  {
    name: 'version',
    label: words.columns.version,
    isTight: true,
    cell: ({ short_version: short, version }) => short ?? version ?? '–',
  },
  {
    name: 'size',
    label: words.columns.size,
    isNumber: true,
    isMinor: true,
    isTight: true,
    cell: ({ bundle_size: size }) => megabytes(size),
  },
  {
    name: 'managed',
    label: words.columns.managed,
    isTight: true,
    isMinor: true,
    cell: ({ is_managed: isManaged }) => <YesNo value={isManaged} />,
  },
];

function megabytes(size: number | null | undefined): string {
  if (size === null || size === undefined) return '–';
  const maximumFractionDigits = size < 10 * MEGABYTE ? 1 : 0;
  return (size / MEGABYTE).toLocaleString('en', { maximumFractionDigits });
}

export function ApplicationsTab({ id }: { id: number }) {
  return (
    <ListTab
      id={id}
      name="installed_applications"
      label={words.tab.applications}
      empty={words.empty.applications}
      columns={COLUMNS}
    />
  );
}
