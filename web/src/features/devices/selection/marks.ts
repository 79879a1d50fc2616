import { queryOptions, useQueryClient } from '@tanstack/react-query';
import { useRef } from 'react';
import { asNew } from '../../../api/as-new';
import { call, client } from '../../../api/client';
import { once, useMutation } from '../../../api/mutation';
import { rowsOf } from '../../../api/rows';
import type { Target } from './target';

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
const MAX_AT_ONCE = 1_000;

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
  target: Target;
  /** The number of devices that a person has confirmed. */
  confirm: number | undefined;
}

export function useMark() {
  const queries = useQueryClient();
  /** A change that waits for the number has created its tag already. */
  const created = useRef(new Map<string, number>());
  return useMutation({
    mutationFn: async ({ mark, direction, target, confirm }: Change, idempotencyKey) => {
      const key = `${mark.type} ${mark.name}`;
      const id = mark.id ?? created.current.get(key) ?? (await create(mark, idempotencyKey));
      created.current.set(key, id);
      const owner = { ...mark, id };
      if ('rules' in target) {
        await send(owner, direction, { meta: { filter: target.rules, confirm } });
        return;
      }
      for (let start = 0; start < target.ids.length; start += MAX_AT_ONCE) {
        const data = target.ids
          .slice(start, start + MAX_AT_ONCE)
          .map((device) => ({ type: 'devices' as const, id: device }));
        await send(owner, direction, { data });
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

async function create({ type, name }: Mark, key: string): Promise<number> {
  const attributes = asNew({ name });
  const header = once(key);
  const { data } =
    type === 'tags'
      ? await call(() => client.POST('/tags', { body: { data: { type, attributes } }, ...header }))
      : await call(() =>
          client.POST('/device_groups', { body: { data: { type, attributes } }, ...header }),
        );
  return Number(data?.id);
}

type Named = { data: { type: 'devices'; id: number }[] };
type Matching = { meta: { filter: Record<string, unknown>[]; confirm?: number | undefined } };

function send(
  { type, id }: Mark & { id: number },
  direction: Direction,
  body: Named | Matching,
): Promise<unknown> {
  const path = `/${type}/{id}/relationships/devices` as const;
  const options = { params: { path: { id } }, body: body as Named };
  return call<unknown>(() =>
    direction === 'add' ? client.POST(path, options) : client.DELETE(path, options),
  );
}
