import { deviceText as words } from '../../../text/device';
import type { PlainColumn } from '../../../ui/plain-table';
import { Time } from '../../../ui/time';
import type { ListRow } from '../queries';
import { ListTab } from './list-tab';

const COLUMNS: PlainColumn<ListRow<'former_enrollments'>>[] = [
  {
    name: 'number',
    label: words.columns.enrollmentNumber,
    isTight: true,
    cell: ({ enrollment_number: number }) => number ?? '–',
  },
  {
    name: 'method',
    label: words.columns.method,
    isMinor: true,
    cell: ({ enrollment_method: method }) => words.methods[method ?? ''] ?? method ?? '–',
  },
  {
    name: 'began',
    label: words.columns.began,
    isTight: true,
    cell: ({ authenticated_at: at }) => <Time at={at} />,
  },
  {
    name: 'ended',
    label: words.columns.ended,
    isTight: true,
    cell: ({ ended_at: at }) => <Time at={at} />,
  },
  {
    name: 'reason',
    label: words.columns.reason,
    cell: ({ end_reason: reason }) => reason ?? '–',
  },
];

export function FormerTab({ id }: { id: number }) {
  return (
    <ListTab
      id={id}
      name="former_enrollments"
      label={words.tab.former}
      empty={words.empty.former}
      columns={COLUMNS}
    />
  );
}
