import { settingsText } from '../../../text/settings';
import { type PlainColumn, PlainTable } from '../../../ui/plain-table';
import { Status, type Tone } from '../../../ui/status';

export interface Credential {
  kind: string;
  source: string;
  id: unknown;
  name: string;
  days_left: number;
  status: string;
  topic: string | null;
  apple_account: string | null;
  identities: number | null;
  not_after: string;
}

type Row = Omit<Credential, 'id'> & { id: string };

const words = settingsText.certificates;

const COLUMNS: PlainColumn<Row>[] = [
  {
    name: 'name',
    label: words.name,
    cell: (row) => (
      <>
        {words.kinds[row.kind] ?? row.kind}
        <span className="settings-note">{row.name}</span>
        {notesOf(row).map((note) => (
          <span key={note} className="settings-note">
            {note}
          </span>
        ))}
      </>
    ),
  },
  {
    name: 'ends',
    label: words.ends,
    isTight: true,
    cell: ({ not_after: end, days_left: days }) => (
      <time dateTime={end} title={new Date(end).toLocaleString('en', { timeZoneName: 'short' })}>
        {words.days(days)}
        <span className="settings-note">{end.slice(0, 10)}</span>
      </time>
    ),
  },
  {
    name: 'state',
    label: words.state,
    isTight: true,
    cell: ({ status }) => <Status tone={toneOf(status)}>{words.status[status] ?? status}</Status>,
  },
];

/** What ends first stands first. */
export function CredentialTable({ credentials }: { credentials: readonly Credential[] }) {
  const rows = [...credentials]
    .sort((a, b) => a.days_left - b.days_left)
    .map((credential) => ({ ...credential, id: `${credential.kind} ${credential.id}` }));
  return <PlainTable label={words.table} columns={COLUMNS} rows={rows} />;
}

function notesOf({ topic, apple_account: account, identities, source }: Row): string[] {
  return [
    ...(topic === null ? [] : [topic]),
    ...(account === null ? [] : [words.account(account)]),
    ...(identities === null ? [] : [words.identities(identities)]),
    ...(source === 'file' ? [words.fromFile] : []),
  ];
}

function toneOf(status: string): Tone {
  if (status === 'ok') return 'ok';
  return status === 'expired' || status === 'no_private_key' ? 'bad' : 'warn';
}
