import { deviceText as words } from '../../../text/device';
import type { PlainColumn } from '../../../ui/plain-table';
import { Status } from '../../../ui/status';
import { Time } from '../../../ui/time';
import type { ListRow } from '../queries';
import { Named, YesNo } from './cells';
import { ListTab } from './list-tab';

const COLUMNS: PlainColumn<ListRow<'installed_certificates'>>[] = [
  {
    name: 'name',
    label: words.columns.name,
    cell: ({ x509_cn: name, subject, serial }) => <Named name={name ?? subject} note={serial} />,
  },
  {
    name: 'issuer',
    label: words.columns.issuer,
    isMinor: true,
    cell: ({ issuer }) => issuer ?? '–',
  },
  {
    name: 'identity',
    label: words.columns.identity,
    isTight: true,
    isMinor: true,
    cell: ({ is_identity: isIdentity }) => <YesNo value={isIdentity} />,
  },
  {
    name: 'managed',
    label: words.columns.managed,
    isTight: true,
    isMinor: true,
    cell: ({ is_managed: isManaged }) => <YesNo value={isManaged} />,
  },
  {
    name: 'ends',
    label: words.columns.ends,
    isTight: true,
    cell: ({ not_after: end }) => (
      <>
        <Time at={end} />
        {isPast(end) && (
          <div>
            <Status tone="bad">{words.columns.expired}</Status>
          </div>
        )}
      </>
    ),
  },
];

function isPast(time: string | null | undefined): boolean {
  return typeof time === 'string' && Date.parse(time) < Date.now();
}

export function CertificatesTab({ id }: { id: number }) {
  return (
    <ListTab
      id={id}
      name="installed_certificates"
      label={words.tab.certificates}
      empty={words.empty.certificates}
      columns={COLUMNS}
    />
  );
}
