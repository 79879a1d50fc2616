import { infiniteQueryOptions, queryOptions, useQueryClient } from '@tanstack/react-query';
import type { Schemas } from '../../api/client';
import { call, client } from '../../api/client';
import { useMutation } from '../../api/mutation';
import { type ListPage, pageOf } from '../../api/pages';
import { LIVE } from '../../api/query-client';
import type { ApiRequest } from '../../api/request';
import { sendRequest } from '../../api/requests';
import { type RowOf, rowOf } from '../../api/rows';
import { ACTION_NAMES } from './actions/actions';
import { type ItemsDocument, type NamedItem, nameItems, WITH_NAMES } from './lists/named-items';

export type Device = RowOf<Schemas['devices_resource']>;

export interface Mark {
  type: 'tags' | 'device_groups';
  id: number;
  name: string;
}

const MARKS = {
  include: ['tags', 'device_groups'],
  fields: { tags: 'name', device_groups: 'name' },
};

/** All facts, and the tags and groups that the device is in. */
export function deviceQuery(id: number) {
  return queryOptions({
    ...LIVE,
    queryKey: ['device', id],
    queryFn: async ({ signal }) => {
      const params = { path: { id }, query: MARKS };
      const document = await call(() => client.GET('/devices/{id}', { params, signal }));
      const marks = (document.included ?? []).map((entry) => ({
        type: entry.type as Mark['type'],
        id: Number(entry.id),
        name: String(entry.attributes.name),
      }));
      return { device: rowOf(document.data as Schemas['devices_resource']), marks };
    },
  });
}

export function diagnosisQuery(id: number) {
  return queryOptions({
    ...LIVE,
    queryKey: ['device', id, 'diagnosis'],
    queryFn: async ({ signal }) => {
      const params = { path: { id } };
      const document = await call(() => client.GET('/devices/{id}/diagnosis', { params, signal }));
      return document.data.attributes.findings;
    },
  });
}

export type Finding = NonNullable<
  Awaited<ReturnType<NonNullable<ReturnType<typeof diagnosisQuery>['queryFn']>>>
>[number];

const TYPES_QUERY = {
  'fields[command_types]': 'request_type,role,is_destructive,eligible,reasons',
  'filter[]': [JSON.stringify({ name: 'request_type', op: 'in', val: ACTION_NAMES })],
};

/** Which of the actions the device can take, and why not the others. */
export function actionTypesQuery(id: number) {
  return queryOptions({
    ...LIVE,
    queryKey: ['device', id, 'command_types'],
    queryFn: async ({ signal }) => {
      const params = { query: { ...TYPES_QUERY, device: id } };
      const document = await call(() => client.GET('/command_types', { params, signal }));
      return (document.data ?? []).map(({ attributes }) => attributes);
    },
  });
}

const UNLOCK_TOKEN = [
  JSON.stringify({ name: 'kind', op: 'eq', val: 'unlock_token' }),
  JSON.stringify({ name: 'is_current', op: 'eq', val: true }),
];

/** Whether the server has the token that clears the passcode of the device. */
export function unlockTokenQuery(id: number) {
  return queryOptions({
    ...LIVE,
    queryKey: ['device', id, 'unlock_token'],
    queryFn: async ({ signal }) => {
      const query = { page: { size: 1 }, 'filter[]': UNLOCK_TOKEN };
      const params = { path: { id }, query };
      const { data } = await call(() => client.GET('/devices/{id}/secrets', { params, signal }));
      return (data ?? []).length > 0;
    },
  });
}

/** The lists below `/devices/{id}/`, and what they hold. */
export interface Lists {
  commands: Schemas['commands_resource'];
  items: NamedItem;
  installed_applications: Schemas['installed_applications_resource'];
  installed_profiles: Schemas['installed_profiles_resource'];
  installed_certificates: Schemas['installed_certificates_resource'];
  local_users: Schemas['local_users_resource'];
  secrets: Schemas['device_secrets_resource'];
  changes: Schemas['device_changes_resource'];
  former_enrollments: Schemas['former_enrollments_resource'];
}
export type ListName = keyof Lists;
export type ListRow<Name extends ListName> = RowOf<Lists[Name]>;

const PAGE_SIZE = 50;
const SORTS: Record<ListName, string> = {
  commands: '-id',
  items: '-changed_at',
  installed_applications: 'name',
  installed_profiles: 'payload_display_name',
  installed_certificates: 'x509_cn',
  local_users: 'user_name',
  secrets: '-id',
  changes: '-id',
  former_enrollments: '-enrollment_number',
};

export function listPath(id: number, name: ListName): string {
  const path = `/api/v1/devices/${id}/${name}?sort=${SORTS[name]}&page[size]=${PAGE_SIZE}`;
  return name === 'items' ? `${path}&${WITH_NAMES.text}` : path;
}

export function listQuery<Name extends ListName>(id: number, name: Name) {
  return infiniteQueryOptions({
    ...LIVE,
    queryKey: ['device', id, name],
    initialPageParam: '',
    queryFn: async ({ pageParam, signal }): Promise<ListPage<ListRow<Name>>> => {
      const page = { size: PAGE_SIZE, after: pageParam };
      const query = { sort: [SORTS[name]], page, ...(name === 'items' && WITH_NAMES.query) };
      // All of them are alike; the path of one stands for the paths of all.
      const path = `/devices/{id}/${name}` as '/devices/{id}/commands';
      const document = await call(() =>
        client.GET(path, { params: { path: { id }, query }, signal }),
      );
      if (name === 'items') nameItems(document as ItemsDocument);
      return pageOf(document as unknown as { data: Lists[Name][] });
    },
    getNextPageParam: (last) => last.next,
  });
}

export function commandQuery(id: number) {
  return queryOptions({
    ...LIVE,
    queryKey: ['commands', id],
    queryFn: async ({ signal }) => {
      const params = { path: { id } };
      const [document, timeline] = await Promise.all([
        call(() => client.GET('/commands/{id}', { params, signal })),
        call(() => client.GET('/commands/{id}/timeline', { params, signal })),
      ]);
      const command = rowOf(document.data as Schemas['commands_resource']);
      return { command, steps: timeline.data.attributes.steps };
    },
  });
}

/** Sends what a button or a finding asks for, in its order; then reads all of the device again. */
export function useSend(id: number) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async (requests: ApiRequest | readonly ApiRequest[], key) => {
      if ('path' in requests) return sendRequest<unknown>(requests, key);
      const data = [];
      for (const [index, request] of requests.entries()) {
        data.push(await sendRequest<unknown>(request, `${key}-${index}`));
      }
      return { data };
    },
    onSettled: () => {
      void queries.invalidateQueries({ queryKey: ['commands'] });
      return queries.invalidateQueries({ queryKey: ['device', id] });
    },
  });
}

export type Sending = ReturnType<typeof useSend>;

export function useReveal(device: number, secret: number) {
  return useMutation({
    // The value stays nowhere once nothing shows it.
    gcTime: 0,
    mutationFn: async (reason: string) => {
      const params = { path: { id: device, secret_id: secret } };
      const path = '/devices/{id}/secrets/{secret_id}/reveal';
      const { data } = await call(() => client.POST(path, { params, body: { reason } }));
      return data.attributes;
    },
  });
}
