import { useQuery } from '@tanstack/react-query';
import { meQuery } from '../../../api/me';
import { useMay } from '../../../api/rights';
import { settingsText } from '../../../text/settings';
import { Section } from '../../../ui/page';
import { type PlainColumn, PlainTable } from '../../../ui/plain-table';
import { ShellLine } from '../../../ui/shell-line';
import { SettingsFrame } from '../settings-frame';
import { TOKENS_PATH } from './queries';
import { TokenTable } from './token-table';

const words = settingsText.tokens;

const STEPS = [
  [
    words.create,
    words.createWhy,
    'muster token create --name helpdesk --role operator --expires 90d',
  ],
  [words.revokeByName, words.revokeByNameWhy, 'muster token revoke helpdesk'],
  [words.link, words.linkWhy, 'muster link console --token helpdesk'],
] as const;

const ROLES = (['viewer', 'operator', 'admin'] as const).map((id) => ({ id }));

const COLUMNS: PlainColumn<(typeof ROLES)[number]>[] = [
  { name: 'role', label: words.role, isTight: true, cell: ({ id }) => id },
  { name: 'may', label: words.mayColumn, cell: ({ id }) => words.may[id] },
];

export function TokensPage() {
  const { data: me } = useQuery(meQuery);
  const canRead = useMay()('listTokens');
  const path = canRead ? TOKENS_PATH : '/api/v1/me';
  return (
    <SettingsFrame section="tokens" about={words.about} requests={[{ path }]}>
      {canRead && <TokenTable />}
      {STEPS.map(([title, why, line]) => (
        <Section key={title} title={title}>
          <ShellLine line={line} copy={settingsText.copy} copied={settingsText.copied} />
          <p className="soft">{why}</p>
        </Section>
      ))}
      <PlainTable label={words.roles} columns={COLUMNS} rows={ROLES} />
      {me !== undefined && me !== null && <p className="soft">{words.you(me.role)}</p>}
    </SettingsFrame>
  );
}
