import { queryOptions, useQueryClient } from '@tanstack/react-query';
import { asNew } from '../../api/as-new';
import { call, client } from '../../api/client';
import { once, useMutation } from '../../api/mutation';
import { rowsOf } from '../../api/rows';

export interface SavedView {
  id: number;
  name: string;
  /** Path and query of the page. */
  path: string;
}

const KEY = ['saved_views'];
const OF_DEVICES = JSON.stringify([{ name: 'path', op: 'startswith', val: '/devices?' }]);

/** Views of the list of devices, by name. */
export const savedViewsQuery = queryOptions({
  queryKey: KEY,
  queryFn: async (): Promise<SavedView[]> => {
    const query = { page: { size: 1_000 }, sort: ['name' as const], 'filter[]': [OF_DEVICES] };
    const document = await call(() => client.GET('/saved_views', { params: { query } }));
    return rowsOf(document).map(({ id, name = '', path = '' }) => ({ id, name, path }));
  },
});

export function useSaveView() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (view: Omit<SavedView, 'id'>, key) => {
      const data = { type: 'saved_views' as const, attributes: asNew(view) };
      return call(() => client.POST('/saved_views', { body: { data }, ...once(key) }));
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: KEY }),
  });
}

export function useRemoveView() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (id: number) =>
      call<unknown>(() => client.DELETE('/saved_views/{id}', { params: { path: { id } } })),
    onSuccess: () => queries.invalidateQueries({ queryKey: KEY }),
  });
}
