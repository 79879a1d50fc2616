import {
  infiniteQueryOptions,
  keepPreviousData,
  queryOptions,
  useQueryClient,
} from '@tanstack/react-query';
import { type Counts, progressOf } from '../../../api/batch-progress';
import type { Schemas } from '../../../api/client';
import { call, client } from '../../../api/client';
import { once, useMutation } from '../../../api/mutation';
import { LIVE } from '../../../api/query-client';
import { type RowOf, rowOf, rowsOf } from '../../../api/rows';
import type { Targets } from '../sender/queries';

/** Commands that ended with the same error. */
export interface Failure {
  status: string;
  error: string | null;
  message: string | null;
  count: number;
  commands: readonly number[];
}

type Attributes = Schemas['command_batches_attributes'];
export type Batch = Omit<Attributes, 'counts' | 'failures' | 'targets' | 'parameters'> & {
  id: number;
  counts: Counts | null;
  failures: readonly Failure[] | null;
  targets: Targets | null;
  parameters?: Record<string, unknown> | null;
  retryOf?: string;
  retriedBy?: string;
};

const LIST_FIELDS = 'name,request_type,state,counts,created_by,created_at';
const BATCHES_PAGE = 30;
const COMMANDS_PAGE = 50;

export const batchesQuery = infiniteQueryOptions({
  ...LIVE,
  queryKey: ['command_batches', 'list'],
  initialPageParam: '',
  queryFn: async ({ pageParam }) => {
    const query = {
      page: { size: BATCHES_PAGE, after: pageParam },
      sort: ['-id'],
      fields: { command_batches: LIST_FIELDS },
    };
    const document = await call(() => client.GET('/command_batches', { params: { query } }));
    return pageOf(document as ListDocument, rowsOf(document) as Batch[]);
  },
  getNextPageParam: (last) => last.next,
});

interface ListDocument {
  links?: { next?: string | null };
  meta?: { total?: number; total_is_estimate?: boolean };
}

function pageOf<Row>({ links, meta }: ListDocument, rows: Row[]) {
  const { total = rows.length, total_is_estimate: isEstimate = false } = meta ?? {};
  return { rows, total, isEstimate, next: cursorOf(links?.next) };
}

function cursorOf(next: string | null | undefined): string | undefined {
  if (next === null || next === undefined) return undefined;
  return new URL(next, location.origin).searchParams.get('page[after]') ?? undefined;
}

export function hasEnded({ state }: Pick<Batch, 'state'>): boolean {
  return state === 'finished' || state === 'cancelled';
}

export function batchQuery(id: string) {
  return queryOptions({
    ...LIVE,
    queryKey: ['command_batches', id],
    // Nothing but a retry changes one that has ended.
    refetchInterval: ({ state: { data } }) =>
      data !== undefined && isSettled(data) ? false : LIVE.refetchInterval,
    queryFn: async () => {
      const params = { path: { id: Number(id) } };
      const { data } = await call(() => client.GET('/command_batches/{id}', { params }));
      const resource = data as Schemas['command_batches_resource'];
      const { retry_of: former, retried_by: next } = resource.relationships ?? {};
      return {
        ...(rowOf(resource) as Batch),
        ...(former?.data && { retryOf: String(former.data.id) }),
        ...(next?.data && { retriedBy: String(next.data.id) }),
      } as Batch;
    },
  });
}

/** It has ended, and so has each of its commands. */
export function isSettled(batch: Pick<Batch, 'state' | 'counts'>): boolean {
  return hasEnded(batch) && progressOf(batch.counts).waiting === 0;
}

export type BatchCommand = RowOf<Schemas['commands_resource']> & {
  device: { id: number; name: string | undefined } | undefined;
};

const COMMAND_FIELDS = {
  commands: 'status,sent_at,acknowledged_at,queued_at,error_chain,reason,attempts,device',
  devices: 'device_name,serial_number',
};

export function batchCommandsQuery(id: string, status: string | undefined, isLive: boolean) {
  return infiniteQueryOptions({
    refetchInterval: isLive ? LIVE.refetchInterval : false,
    queryKey: ['command_batches', id, 'commands', status ?? null],
    initialPageParam: '',
    placeholderData: keepPreviousData,
    queryFn: async ({ pageParam }) => {
      const rule = JSON.stringify({ name: 'status', op: 'eq', val: status });
      const query = {
        page: { size: COMMANDS_PAGE, after: pageParam },
        sort: ['id'],
        include: 'device',
        fields: COMMAND_FIELDS,
        ...(status !== undefined && { 'filter[]': [rule] }),
      };
      const params = { path: { id: Number(id) }, query: query as never };
      const document = await call(() => client.GET('/command_batches/{id}/commands', { params }));
      return pageOf(document as ListDocument, withDevices(document as CommandsDocument));
    },
    getNextPageParam: (last) => last.next,
  });
}

interface CommandsDocument {
  data?: Schemas['commands_resource'][];
  included?: Schemas['devices_resource'][];
}

function withDevices({ data = [], included = [] }: CommandsDocument): BatchCommand[] {
  const names = new Map(
    included.map(({ id, attributes }) => [
      Number(id),
      attributes?.device_name ?? attributes?.serial_number ?? undefined,
    ]),
  );
  return data.map((resource) => {
    const device = resource.relationships?.device?.data;
    const id = Number(device?.id);
    return { ...rowOf(resource), device: device ? { id, name: names.get(id) } : undefined };
  });
}

interface BatchAction {
  name: 'cancel' | 'retry_failed';
  confirm?: number;
}

/** Both answer with a batch: the one that was cancelled, or the new one. */
export function useBatchAction(id: string) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async ({ name, confirm }: BatchAction, key) => {
      const path = { id: Number(id) };
      const { data } =
        name === 'cancel'
          ? await call(() =>
              client.POST('/command_batches/{id}/cancel', { params: { path }, ...once(key) }),
            )
          : await call(() =>
              client.POST('/command_batches/{id}/retry_failed', {
                params: { path, query: { confirm } },
                ...once(key),
              }),
            );
      return String(data?.id);
    },
    // Not awaited: the button may be gone once the batch has been read again, and with it what follows.
    onSettled: () => void queries.invalidateQueries({ queryKey: ['command_batches'] }),
  });
}
