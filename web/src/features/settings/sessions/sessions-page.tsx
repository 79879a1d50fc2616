import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Part } from '../../../api/part';
import { useMay } from '../../../api/rights';
import { settingsText } from '../../../text/settings';
import { Button } from '../../../ui/button';
import { type PlainColumn, PlainTable } from '../../../ui/plain-table';
import { Status } from '../../../ui/status';
import { Time } from '../../../ui/time';
import { SettingsFrame } from '../settings-frame';
import { browserName } from './browser-name';
import { SESSIONS_PATH, type Session, sessionsQuery } from './queries';
import { RevokeSession } from './revoke-session';

const words = settingsText.sessions;

const COLUMNS: PlainColumn<Session>[] = [
  {
    name: 'name',
    label: words.name,
    cell: ({ name, role, is_current: isCurrent }) => (
      <>
        {name} {isCurrent && <Status tone="ok">{words.current}</Status>}
        <span className="settings-note">{role}</span>
      </>
    ),
  },
  {
    name: 'browser',
    label: words.browser,
    cell: ({ user_agent: agent, ip_address: address }) => (
      <span title={agent ?? undefined}>
        {browserName(agent) ?? words.unknownBrowser}
        <span className="settings-note">{address}</span>
      </span>
    ),
  },
  {
    name: 'signedIn',
    label: words.signedIn,
    isTight: true,
    isMinor: true,
    cell: ({ authenticated_at: at }) => <Time at={at} />,
  },
  {
    name: 'used',
    label: words.used,
    isTight: true,
    isMinor: true,
    cell: ({ last_used_at: at }) => <Time at={at} />,
  },
  {
    name: 'ends',
    label: words.ends,
    isTight: true,
    isMinor: true,
    cell: ({ idle_ends_at: idle = '', ends_at: end = '' }) => <Time at={idle < end ? idle : end} />,
  },
];

export function SessionsPage() {
  const sessions = useQuery(sessionsQuery);
  const [revoking, setRevoking] = useState<Session>();
  const [result, setResult] = useState('');
  const canRevoke = useMay()('deleteSession');
  const actions: PlainColumn<Session> = {
    name: 'actions',
    label: words.actions,
    isActions: true,
    cell: (session) => (
      <Button
        kind="quiet"
        aria-label={words.revokeNamed(
          session.name ?? '',
          browserName(session.user_agent) ?? words.unknownBrowser,
          session.id,
        )}
        onPress={() => setRevoking(session)}
      >
        {words.revoke}
      </Button>
    ),
  };
  return (
    <SettingsFrame section="sessions" about={words.about} requests={[{ path: SESSIONS_PATH }]}>
      <Part query={sessions} lines={6}>
        {(rows) => (
          <PlainTable
            label={words.table}
            columns={canRevoke ? [...COLUMNS, actions] : COLUMNS}
            rows={rows}
          />
        )}
      </Part>
      <p role="status">{result}</p>
      {revoking !== undefined && (
        <RevokeSession
          session={revoking}
          onClose={() => setRevoking(undefined)}
          onDone={() => {
            setResult(words.revoked(revoking.name ?? ''));
            setRevoking(undefined);
          }}
        />
      )}
    </SettingsFrame>
  );
}
