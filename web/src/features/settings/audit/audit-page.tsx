import { useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { ErrorPanel } from '../../../api/error-panel';
import { LIVE } from '../../../api/query-client';
import { useMay } from '../../../api/rights';
import { settingsText } from '../../../text/settings';
import { Button } from '../../../ui/button';
import { Empty, Skeleton } from '../../../ui/notice';
import { PlainTable } from '../../../ui/plain-table';
import { SettingsFrame } from '../settings-frame';
import { AuditFilterForm } from './audit-filter';
import { AUDIT_COLUMNS } from './columns';
import { auditPath, auditQuery } from './queries';

const words = settingsText.audit;
const NEEDS = { operation: 'listAuditEvents', least: 'admin' };

export function AuditPage() {
  const search = useSearch({ from: '/settings/audit' });
  const navigate = useNavigate({ from: '/settings/audit' });
  const isAllowed = useMay()(NEEDS.operation);
  const [isLive, setLive] = useState(true);
  // Older events move when newer ones come: nothing is asked again while they are read.
  const live = isLive ? LIVE : {};
  const events = useInfiniteQuery({ ...auditQuery(search), ...live, enabled: isAllowed });
  const rows = events.data?.pages.flatMap((page) => page.rows) ?? [];
  return (
    <SettingsFrame
      section="audit"
      about={words.about}
      needs={NEEDS}
      requests={[{ path: auditPath(search) }]}
    >
      <AuditFilterForm
        filter={search}
        onChange={(filter) => void navigate({ search: filter, replace: true })}
      />
      <p role="status" className="visually-hidden">
        {events.data !== undefined && words.shown(rows.length)}
      </p>
      {events.error !== null && (
        <ErrorPanel error={events.error} onRetry={() => void events.refetch()} />
      )}
      {events.data === undefined && events.error === null && <Skeleton lines={12} />}
      {events.data !== undefined && rows.length === 0 && <Empty title={words.none} />}
      {rows.length > 0 && <PlainTable label={words.table} columns={AUDIT_COLUMNS} rows={rows} />}
      {events.hasNextPage && (
        <div>
          <Button
            isPending={events.isFetchingNextPage}
            onPress={() => {
              setLive(false);
              void events.fetchNextPage();
            }}
          >
            {words.older}
          </Button>
        </div>
      )}
    </SettingsFrame>
  );
}
