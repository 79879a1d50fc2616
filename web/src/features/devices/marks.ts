import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import { asNew } from '../../api/as-new';
import { call, client } from '../../api/client';
import { rowsOf } from '../../api/rows';

/** What a device can be put into by hand. */
export type MarkType = 'tags' | 'device_groups';
export type Direction = 'add' | 'remove';

export interface Mark {
  type: MarkType;
  /** Undefined: a new one with this name is created first. */
  id: number | undefined;
  name: string;
}

/** As many as one request takes. */
const MOST_AT_ONCE = 1_000;

const PAGE = { page: { size: 1_000 }, sort: ['name'] };
const STATIC = '{"name":"kind","op":"eq","val":"static"}';

/** Tags, and the groups whose devices no rule chooses. */
export const marksQuery = queryOptions({
  queryKey: ['tags', 'marks'],
  queryFn: async () => {
    const [tags, groups] = await Promise.all([
      call(() => client.GET('/tags', { params: { query: { ...PAGE, fields: { tags: 'name' } } } })),
      call(() =>
        client.GET('/device_groups', {
          params: {
            query: { ...PAGE, fields: { device_groups: 'name' }, 'filter[]': [STATIC] },
          },
        }),
      ),
    ]);
    return { tags: rowsOf(tags), device_groups: rowsOf(groups) };
  },
});

interface Change {
  mark: Mark;
  direction: Direction;
  ids: readonly number[];
}

export function useMark() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async ({ mark, direction, ids }: Change) => {
      const id = mark.id ?? (await create(mark));
      for (let start = 0; start < ids.length; start += MOST_AT_ONCE) {
        await send({ ...mark, id }, direction, ids.slice(start, start + MOST_AT_ONCE));
      }
    },
    onSettled: () =>
      Promise.all(
        ['tags', 'device_groups', 'devices'].map((name) =>
          queries.invalidateQueries({ queryKey: [name] }),
        ),
      ),
  });
}

async function create({ type, name }: Mark): Promise<number> {
  const attributes = asNew({ name });
  const { data } =
    type === 'tags'
      ? await call(() => client.POST('/tags', { body: { data: { type, attributes } } }))
      : await call(() => client.POST('/device_groups', { body: { data: { type, attributes } } }));
  return Number(data?.id);
}

function send({ type, id }: Mark & { id: number }, direction: Direction, ids: readonly number[]) {
  const path = `/${type}/{id}/relationships/devices` as const;
  const data = ids.map((device) => ({ type: 'devices' as const, id: device }));
  const options = { params: { path: { id } }, body: { data } };
  return call<unknown>(() =>
    direction === 'add' ? client.POST(path, options) : client.DELETE(path, options),
  );
}
