import { infiniteQueryOptions, keepPreviousData } from '@tanstack/react-query';
import type { Schemas } from '../../../api/client';
import { call, client } from '../../../api/client';
import { cursorOf } from '../../../api/pages';
import { pathOf } from '../../../api/path-of';
import { type RowOf, rowsOf } from '../../../api/rows';

export type AuditEvent = RowOf<Schemas['audit_events_resource']>;

export interface AuditFilter {
  actor?: string | undefined;
  action?: string | undefined;
}

const PAGE_SIZE = 50;

function parametersOf(filter: AuditFilter) {
  return { sort: ['-id'], 'filter[]': rulesOf(filter) };
}

export function auditPath(filter: AuditFilter): string {
  return pathOf('/audit_events', parametersOf(filter));
}

/** The newest first. */
export function auditQuery(filter: AuditFilter) {
  return infiniteQueryOptions({
    queryKey: ['audit_events', filter],
    initialPageParam: '',
    placeholderData: keepPreviousData,
    queryFn: async ({ pageParam, signal }) => {
      const page = { size: PAGE_SIZE, after: pageParam };
      const query = { ...parametersOf(filter), page };
      const document = await call(() => client.GET('/audit_events', { params: { query }, signal }));
      return { rows: rowsOf(document), next: cursorOf(document.links.next) };
    },
    getNextPageParam: (last) => last.next,
  });
}

function rulesOf({ actor, action }: AuditFilter): string[] {
  return Object.entries({ actor, action }).flatMap(([name, val]) =>
    val === undefined || val === '' ? [] : [JSON.stringify({ name, op: 'startswith', val })],
  );
}
