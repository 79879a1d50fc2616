import { queryOptions, useQueryClient } from '@tanstack/react-query';
import { call, client } from '../../../api/client';
import { once, useMutation } from '../../../api/mutation';
import { rowsOf } from '../../../api/rows';
import type { paths } from '../../../api/schema';
import type { Condition, Key } from '../form/keys';
import { type Target, targetRules } from './targets';

/** Apple's schema changes with the server alone. */
const STATIC = { staleTime: Number.POSITIVE_INFINITY } as const;

export interface CommandType {
  request_type: string;
  title: string;
  role: 'operator' | 'admin';
  is_destructive: boolean;
  platforms: string;
  eligible?: boolean;
  reasons?: readonly { detail?: string }[];
}

/** A command with what its form needs. */
export interface CommandForm extends CommandType {
  keys: readonly Key[];
  conditions: readonly Condition[];
}

/** All commands; with a device, whether it takes each. */
export function commandTypesQuery(device: number | undefined) {
  return queryOptions({
    ...(device === undefined ? STATIC : {}),
    queryKey: ['command_types', 'list', device ?? null],
    queryFn: async () => {
      const query = { page: { size: 1_000 }, sort: ['title'], device };
      const { data } = await call(() => client.GET('/command_types', { params: { query } }));
      return (data ?? []).map(({ attributes }) => attributes as CommandType);
    },
  });
}

export function commandTypeQuery(requestType: string) {
  return queryOptions({
    ...STATIC,
    queryKey: ['command_types', requestType],
    queryFn: async () => {
      const params = {
        path: { request_type: requestType },
        query: {
          'fields[command_types]':
            'request_type,title,role,is_destructive,platforms,keys,conditions',
        },
      };
      const { data } = await call(() => client.GET('/command_types/{request_type}', { params }));
      return data?.attributes as CommandForm;
    },
  });
}

const FEW = 5;
const DEVICE_NAMES = { devices: 'device_name,serial_number' };

/** How many devices it is, and the names of the first. */
export function targetQuery(target: Target) {
  const first = target.kind === 'devices' ? target.ids.slice(0, FEW) : undefined;
  const rules = targetRules(first === undefined ? target : { kind: 'devices', ids: first });
  return queryOptions({
    queryKey: ['devices', 'target', rules],
    queryFn: async () => {
      const page = { size: FEW };
      const query = { page, fields: DEVICE_NAMES, 'filter[]': [JSON.stringify(rules)] };
      const document = await call(() => client.GET('/devices', { params: { query } }));
      return { rows: rowsOf(document), total: document.meta.total ?? 0 };
    },
  });
}

export function deviceNamesQuery(ids: readonly number[]) {
  return queryOptions({
    queryKey: ['devices', 'names', ids],
    staleTime: 60_000,
    queryFn: async () => {
      const rule = JSON.stringify({ name: 'id', op: 'in', val: ids });
      const query = { page: { size: 100 }, fields: DEVICE_NAMES, 'filter[]': [rule] };
      return rowsOf(await call(() => client.GET('/devices', { params: { query } })));
    },
  });
}

/** As many as a page of a search shows. */
const FOUND = 50;

export function deviceSearchQuery(text: string) {
  return queryOptions({
    queryKey: ['devices', 'search', text],
    queryFn: async () => {
      const rule = JSON.stringify({ name: 'search', op: 'contains', val: text });
      const query = { page: { size: FOUND }, fields: DEVICE_NAMES, 'filter[]': [rule] };
      const document = await call(() => client.GET('/devices', { params: { query } }));
      return { rows: rowsOf(document), total: document.meta.total ?? 0 };
    },
  });
}

const PAGE = { page: { size: 1_000 }, sort: ['name'] };

/** Tags and groups to choose from. */
export const marksQuery = queryOptions({
  queryKey: ['tags', 'targets'],
  queryFn: async () => {
    const [tags, groups] = await Promise.all([
      call(() =>
        client.GET('/tags', {
          params: { query: { ...PAGE, fields: { tags: 'name,devices_count' } } },
        }),
      ),
      call(() =>
        client.GET('/device_groups', {
          params: { query: { ...PAGE, fields: { device_groups: 'name,devices_count' } } },
        }),
      ),
    ]);
    return { tags: rowsOf(tags), groups: rowsOf(groups) };
  },
});

type Post = paths['/command_batches']['post'];
type Body = Post['requestBody']['content']['application/vnd.api+json'];
export type Order = NonNullable<Extract<Body, { data: object }>['data']['attributes']>;
type DryRunAnswer = Post['responses'][200]['content']['application/vnd.api+json'];
export type Targets = DryRunAnswer['meta']['targets'];

export function bodyOf(attributes: Order) {
  return { data: { type: 'command_batches' as const, attributes } };
}

/** What would become of the devices. */
export function dryRunQuery(order: Order) {
  return queryOptions({
    queryKey: ['command_batches', 'dry_run', order],
    retry: false,
    staleTime: 10_000,
    queryFn: async ({ signal }) => {
      const params = { query: { dry_run: true } };
      const answer = await call(() =>
        client.POST('/command_batches', { params, body: bodyOf(order), signal }),
      );
      return (answer as DryRunAnswer).meta;
    },
  });
}

export interface Sent {
  order: Order;
  /** The number that the person has typed. */
  confirm?: number | undefined;
}

/** Returns the id of the batch. */
export function useSend() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async ({ order, confirm }: Sent, key) => {
      const params = { query: { confirm } };
      const answer = await call(() =>
        client.POST('/command_batches', { params, body: bodyOf(order), ...once(key) }),
      );
      return String((answer as { data?: { id?: unknown } }).data?.id);
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: ['command_batches', 'list'] }),
  });
}
