import { queryOptions, useQueryClient } from '@tanstack/react-query';
import { asNew } from '../../api/as-new';
import type { Schemas } from '../../api/client';
import { call, client } from '../../api/client';
import { once, useMutation } from '../../api/mutation';
import { pathOf } from '../../api/path-of';
import { LIVE } from '../../api/query-client';
import { type RowOf, rowOf, rowsOf } from '../../api/rows';
import type { ApiRule } from './rules/rule';

export type Tag = RowOf<Schemas['tags_resource']>;
export type Group = RowOf<Schemas['device_groups_resource']>;

/** As many as one page of the API holds. */
const MAX_SHOWN = 1_000;
const PAGE = { page: { size: MAX_SHOWN }, sort: ['name'] };
const TAGS = { ...PAGE, fields: { tags: 'name,color,updated_at,devices_count' } };
const GROUPS = {
  ...PAGE,
  fields: { device_groups: 'name,kind,description,evaluated_at,updated_at,devices_count' },
};
export const LIST_PATHS = { tags: pathOf('/tags', TAGS), groups: pathOf('/device_groups', GROUPS) };

export const tagsQuery = queryOptions({
  ...LIVE,
  queryKey: ['tags', 'list'],
  queryFn: async () => {
    const document = await call(() => client.GET('/tags', { params: { query: TAGS } }));
    return { rows: rowsOf(document), total: document.meta.total ?? 0 };
  },
});

export const groupsQuery = queryOptions({
  ...LIVE,
  queryKey: ['device_groups', 'list'],
  queryFn: async () => {
    const document = await call(() => client.GET('/device_groups', { params: { query: GROUPS } }));
    return { rows: rowsOf(document), total: document.meta.total ?? 0 };
  },
});

const GROUP = {
  fields: {
    device_groups:
      'name,kind,description,rule,evaluated_at,evaluated_devices,created_at,devices_count',
  },
};

export function groupPath(id: number): string {
  return pathOf(`/device_groups/${id}`, GROUP);
}

export function groupQuery(id: number) {
  return queryOptions({
    ...LIVE,
    queryKey: ['device_groups', id],
    queryFn: async () => {
      const params = { path: { id }, query: GROUP };
      const document = await call(() => client.GET('/device_groups/{id}', { params }));
      return rowOf(document.data as Schemas['device_groups_resource']);
    },
  });
}

export type Doubt = 'unknown_devices' | 'flapping_devices';

/** The first devices of which it is unknown, or that change sides, and how many there are. */
export function doubtQuery(id: number, doubt: Doubt) {
  return queryOptions({
    ...LIVE,
    queryKey: ['device_groups', id, doubt],
    queryFn: async () => {
      const query = { page: { size: 10 }, fields: { devices: 'device_name,serial_number' } };
      const params = { path: { id }, query };
      const document = await call(() => client.GET(`/device_groups/{id}/${doubt}`, { params }));
      return { rows: rowsOf(document), total: document.meta.total ?? 0 };
    },
  });
}

/** Each preview has a line in the audit trail, so it is made once for a rule. */
export function previewQuery(rule: ApiRule[]) {
  return queryOptions({
    queryKey: ['device_groups', 'preview', rule],
    staleTime: 30_000,
    retry: false,
    queryFn: async ({ signal }) =>
      (await call(() => client.POST('/device_groups/preview', { body: { rule }, signal }))).meta,
  });
}

export interface TagValues {
  name: string;
  color: string;
}

/** Creates a tag, or changes the one with this id. */
export function useSaveTag(id: number | undefined) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async (attributes: TagValues, key) => {
      const type = 'tags' as const;
      if (id === undefined) {
        return call(() =>
          client.POST('/tags', {
            body: { data: { type, attributes: asNew(attributes) } },
            ...once(key),
          }),
        );
      }
      const params = { path: { id } };
      return call(() =>
        client.PATCH('/tags/{id}', { params, body: { data: { type, id, attributes } } }),
      );
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: ['tags'] }),
  });
}

export function useDeleteTag() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (id: number) =>
      call(() => client.DELETE('/tags/{id}', { params: { path: { id } } })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['tags'] }),
  });
}

export interface GroupValues {
  name: string;
  description: string | null;
  kind?: 'static' | 'smart';
  rule?: ApiRule[];
}

/** Creates a group, or changes the one with this id. Returns its id. */
export function useSaveGroup(id: number | undefined) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async (attributes: GroupValues, key) => {
      const type = 'device_groups' as const;
      const { data } =
        id === undefined
          ? await call(() =>
              client.POST('/device_groups', {
                body: { data: { type, attributes: asNew(attributes) } },
                ...once(key),
              }),
            )
          : await call(() =>
              client.PATCH('/device_groups/{id}', {
                params: { path: { id } },
                body: { data: { type, id, attributes } },
              }),
            );
      return Number(data?.id);
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: ['device_groups'] }),
  });
}

export function useDeleteGroup() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (id: number) =>
      call(() => client.DELETE('/device_groups/{id}', { params: { path: { id } } })),
    // The page of the group is left: to ask for it again would only fail.
    onSuccess: () => queries.invalidateQueries({ queryKey: groupsQuery.queryKey }),
  });
}
