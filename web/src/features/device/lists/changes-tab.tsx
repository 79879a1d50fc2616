import { deviceText as words } from '../../../text/device';
import { labelOfFact } from '../../../text/device-facts';
import type { PlainColumn } from '../../../ui/plain-table';
import { Time } from '../../../ui/time';
import type { ListRow } from '../queries';
import { Named } from './cells';
import { ListTab } from './list-tab';

type Change = ListRow<'changes'>;

const COLUMNS: PlainColumn<Change>[] = [
  { name: 'what', label: words.columns.what, cell: whatOf },
  {
    name: 'before',
    label: words.columns.before,
    cell: ({ change, old }) => (change === 'appeared' ? <Soft>–</Soft> : (old ?? <Soft>–</Soft>)),
  },
  {
    name: 'after',
    label: words.columns.after,
    cell: ({ change, new: present }) => {
      if (change === 'gone') return <Soft>{words.changes.gone}</Soft>;
      return present ?? <Soft>{change === 'appeared' ? words.changes.appeared : '–'}</Soft>;
    },
  },
  {
    name: 'cause',
    label: words.columns.cause,
    isMinor: true,
    cell: ({ cause, caused_by: by }) => (
      <Named name={words.changes.causes[cause ?? ''] ?? cause} note={by} />
    ),
  },
  {
    name: 'changed',
    label: words.columns.changed,
    isTight: true,
    cell: ({ changed_at: at }) => <Time at={at} />,
  },
];

function whatOf({ kind, attribute, name }: Change) {
  if (kind === 'attribute') return labelOfFact(attribute ?? '');
  return <Named name={name ?? attribute} note={words.changes.kinds[kind ?? '']} />;
}

function Soft({ children }: { children: string }) {
  return <span className="soft">{children}</span>;
}

export function ChangesTab({ id }: { id: number }) {
  return (
    <ListTab
      id={id}
      name="changes"
      label={words.tab.changes}
      empty={words.empty.changes}
      columns={COLUMNS}
    />
  );
}
