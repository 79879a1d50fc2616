import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Part } from '../../../api/part';
import { settingsText } from '../../../text/settings';
import { Button } from '../../../ui/button';
import { Empty } from '../../../ui/notice';
import { type PlainColumn, PlainTable } from '../../../ui/plain-table';
import { Status } from '../../../ui/status';
import { Time } from '../../../ui/time';
import { type Token, tokensQuery } from './queries';
import { RevokeToken } from './revoke-token';

const words = settingsText.tokens;

function isOver({ expires_at: at }: Token): boolean {
  return typeof at === 'string' && Date.parse(at) <= Date.now();
}

const COLUMNS: PlainColumn<Token>[] = [
  {
    name: 'name',
    label: words.name,
    cell: (token) => (
      <>
        {token.name} {token.is_current && <Status tone="ok">{words.current}</Status>}
        {isOver(token) && <Status tone="soft">{words.expired}</Status>}
        <span className="settings-note">{words.numbered(token.id)}</span>
      </>
    ),
  },
  { name: 'role', label: words.role, isTight: true, cell: ({ role }) => role },
  {
    name: 'created',
    label: words.created,
    isTight: true,
    isMinor: true,
    cell: ({ created_at: at }) => <Time at={at} />,
  },
  {
    name: 'used',
    label: words.used,
    isTight: true,
    isMinor: true,
    cell: ({ last_used_at: at }) => (at === null ? words.never : <Time at={at} />),
  },
  {
    name: 'ends',
    label: words.ends,
    isTight: true,
    isMinor: true,
    cell: ({ expires_at: at }) => (at === null ? words.never : <Time at={at} />),
  },
];

/** The tokens that are not revoked. The own one is revoked with another, so that an admin remains. */
export function TokenTable() {
  const tokens = useQuery(tokensQuery);
  const [revoking, setRevoking] = useState<Token>();
  const [result, setResult] = useState('');
  const actions: PlainColumn<Token> = {
    name: 'actions',
    label: words.actions,
    isActions: true,
    cell: (token) =>
      !token.is_current && (
        <Button
          kind="quiet"
          aria-label={words.revokeNamed(token.name ?? '', token.id)}
          onPress={() => setRevoking(token)}
        >
          {words.revoke}
        </Button>
      ),
  };
  return (
    <>
      <Part query={tokens} lines={4}>
        {(rows) =>
          rows.length === 0 ? (
            <Empty title={words.none} />
          ) : (
            <PlainTable label={words.table} columns={[...COLUMNS, actions]} rows={rows} />
          )
        }
      </Part>
      <p role="status">{result}</p>
      {revoking !== undefined && (
        <RevokeToken
          token={revoking}
          onClose={() => setRevoking(undefined)}
          onDone={() => {
            setResult(words.revoked(revoking.name ?? ''));
            setRevoking(undefined);
          }}
        />
      )}
    </>
  );
}
