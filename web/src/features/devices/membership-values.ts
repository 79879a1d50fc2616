import { queryOptions } from '@tanstack/react-query';
import { call, client } from '../../api/client';
import { rowsOf } from '../../api/rows';

export interface Value {
  value: string;
  label: string;
}

const PAGE = { page: { size: 1_000 }, sort: ['name'] };

/** What a filter by tag or by group can be chosen from, as values of `membershipRule`. */
export const membershipValuesQuery = queryOptions({
  queryKey: ['tags', 'memberships'],
  queryFn: async (): Promise<Record<string, Value[]>> => {
    const [tags, groups] = await Promise.all([
      call(() => client.GET('/tags', { params: { query: { ...PAGE, fields: { tags: 'name' } } } })),
      call(() =>
        client.GET('/device_groups', {
          params: { query: { ...PAGE, fields: { device_groups: 'name' } } },
        }),
      ),
    ]);
    return {
      tags: rowsOf(tags).map(({ name = '' }) => ({ value: name, label: name })),
      device_groups: rowsOf(groups).map(({ id, name = '' }) => ({
        value: `${id} ${name}`,
        label: name,
      })),
    };
  },
});
