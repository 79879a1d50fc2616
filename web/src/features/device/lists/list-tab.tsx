import { type PlainColumn, PlainTable } from '../../../ui/plain-table';
import type { ListName, ListRow } from '../queries';
import { MoreRows } from './more-rows';

interface Props<Name extends ListName> {
  id: number;
  name: Name;
  label: string;
  empty: string;
  columns: readonly PlainColumn<ListRow<Name>>[];
}

/** A list of the device as a table. */
export function ListTab<Name extends ListName>({ label, columns, ...list }: Props<Name>) {
  return (
    <MoreRows {...list}>
      {(rows) => <PlainTable label={label} columns={columns} rows={rows} />}
    </MoreRows>
  );
}
