import type { Schemas } from '../../../api/client';
import { PageLinks } from '../../../api/page-links';
import type { RowOf } from '../../../api/rows';
import { settingsText } from '../../../text/settings';
import { type PlainColumn, PlainTable } from '../../../ui/plain-table';
import { Status } from '../../../ui/status';
import { Time } from '../../../ui/time';

type Account = RowOf<Schemas['dep_accounts_resource']>;

const words = settingsText.certificates;

const COLUMNS: PlainColumn<Account>[] = [
  {
    name: 'name',
    label: words.depName,
    cell: ({ id, server_name: name, org_name: organization, status_advice: advice }) => (
      <>
        {name ?? words.depUnnamed(id)}
        {organization !== null && <span className="settings-note">{organization}</span>}
        {typeof advice === 'string' && (
          <span className="settings-note">
            {advice}
            <PageLinks text={advice} />
          </span>
        )}
      </>
    ),
  },
  {
    name: 'token',
    label: words.depToken,
    isTight: true,
    cell: ({ access_token_expiry: end }) => <Time at={end} />,
  },
  {
    name: 'sync',
    label: words.depSync,
    isTight: true,
    isMinor: true,
    cell: ({ sync_finished_at: at }) => <Time at={at} />,
  },
  {
    name: 'state',
    label: words.state,
    isTight: true,
    cell: ({ status = 'unconfirmed' }) => (
      <Status tone={status === 'ok' ? 'ok' : 'warn'}>{words.depStatus[status] ?? status}</Status>
    ),
  },
];

export function DepAccounts({ rows }: { rows: readonly Account[] }) {
  if (rows.length === 0) return <p className="soft">{words.noDep}</p>;
  return <PlainTable label={words.dep} columns={COLUMNS} rows={rows} />;
}
