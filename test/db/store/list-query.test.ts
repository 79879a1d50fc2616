import { countSql } from '../../../src/db/store/count-sql.js';
import { sortKeys } from '../../../src/db/store/keyset.js';
import { rowsSql as sliceSql } from '../../../src/db/store/list-query.js';
import { text } from '../../../src/jsonapi/definition/attributes.js';
import type { ListQuery } from '../../../src/jsonapi/store.js';

const tags = { type: 'tags', table: 'tags', attributes: { name: text() }, relationships: {} };
const devices = { type: 'devices', table: 'devices', attributes: {}, relationships: {} };

const query: ListQuery = {
  shape: tags,
  columns: ['name'],
  filter: [],
  sort: [],
  page: { number: 1, size: 30 },
  totalMode: 'upToLimit',
};

const named: ListQuery = {
  ...query,
  filter: [
    {
      kind: 'compare',
      column: { name: 'name', kind: 'text', ignoreCase: false },
      op: 'eq',
      value: 'x',
    },
  ],
};

const byJoinTable: ListQuery = {
  ...query,
  scope: {
    parent: devices,
    relation: {
      kind: 'toMany',
      type: 'tags',
      via: { table: 'device_tags', own: 'device_id', other: 'tag_id' },
    },
    id: 7,
  },
};

function rowsSql(query: ListQuery, offset = 0) {
  return sliceSql(query, { keys: sortKeys(query), range: null, limit: query.page.size, offset });
}

describe('rowsSql', () => {
  it('reads the requested columns, by id unless sorted', () => {
    expect(rowsSql(query)).toEqual({
      text: 'select t0."id", t0."name" from "tags" as t0 where true order by t0."id" limit 30',
      bindings: [],
      isPlannedOnce: true,
    });
  });

  it('plans each time what a filter or an offset decides', () => {
    expect(rowsSql(named)).toMatchObject({ bindings: ['x', 30, 0], isPlannedOnce: false });
    expect(rowsSql(query, 60)).toMatchObject({ bindings: [30, 60], isPlannedOnce: false });
    expect(countSql(named).isPlannedOnce).toBe(false);
  });

  it('breaks ties by the id and skips the previous pages', () => {
    const sort = [
      { column: 'name', descending: true },
      { column: 'color', descending: false },
    ];
    const { text: sql, bindings } = rowsSql({ ...query, sort, page: { number: 3, size: 20 } }, 40);
    const order = 'order by t0."name" desc, t0."color", t0."id"';
    expect(sql).toContain(`${order} limit ? offset ?`);
    expect(sql.endsWith(`) ${order}`)).toBe(true);
    expect(bindings).toEqual([20, 40]);
  });

  it('reads only rows below the parent of a scope', () => {
    expect(rowsSql(byJoinTable)).toMatchObject({
      text: expect.stringContaining(
        'where (t0."id" in (select "tag_id" from "device_tags" where "device_id" = ?)) order by',
      ),
      bindings: [7],
    });
    const relation = { kind: 'toMany', type: 'tags', via: { foreignKey: 'device_id' } } as const;
    const scope = { parent: devices, relation, id: 7 };
    expect(rowsSql({ ...query, scope }).text).toContain('where (t0."device_id" = ?) order by');
  });
});

describe('countSql', () => {
  it('counts exactly on request, and no collection of a million rows by default', () => {
    const counted = 'select count(*) as total from "tags" as t0 where true';
    expect(countSql({ ...query, totalMode: 'exact' })).toEqual({
      text: counted,
      bindings: [],
      isPlannedOnce: true,
      isShared: false,
    });
    expect(countSql(query).text).toContain('from "tags" as t0 limit 100001');
    expect(countSql({ ...named, totalMode: 'exact' })).toMatchObject({ bindings: ['x'] });
  });

  it('counts no table that PostgreSQL knows to be large', () => {
    const { text: sql, bindings, isShared } = countSql(query);
    expect(sql).toContain('case when size.rows > 500000 then 100001 else (select count(*)');
    expect(sql).toContain('case when total > 100000 then rows end as estimate');
    expect({ bindings, isShared }).toEqual({ bindings: [], isShared: true });
  });

  it('counts the links of one resource alone, but not those of a view', () => {
    const column = { name: 'id', kind: 'integer', ignoreCase: false } as const;
    const count = (isView: boolean) => {
      const via = { table: 'device_tags', own: 'device_id', other: 'tag_id', isView };
      const relation = { kind: 'toMany', type: 'tags', via } as const;
      const node = { kind: 'compare', column, op: 'eq', value: 7 } as const;
      return countSql({
        ...named,
        filter: [{ kind: 'related', relation, shape: named.shape, node }],
      });
    };
    expect(count(false)).toMatchObject({
      text: expect.stringContaining(
        'from "device_tags") as t0 where "tag_id" = ?::bigint limit 100001',
      ),
      bindings: [7, 7],
    });
    expect(count(true).text).toContain('from "tags" as t0');
  });

  it('samples a filtered one, and counts up to the limit unless the sample shows more', () => {
    const { text: sql, bindings } = countSql(named);
    expect(sql).toContain('case when rows > 500000 then true');
    // Somewhat fewer prove it only where they are spread over the table.
    expect(sql).toContain('when rows > 100000 then rows * (1 - 4 * (select sqrt(');
    expect(sql).toContain('limit 100001');
    expect(sql).toContain('case when total > 100000 then');
    expect(sql).toContain(
      'tablesample system ((select least(1, 50000.0 / greatest(size.pages, 1))',
    );
    expect(sql).toContain('repeatable (1)');
    expect(bindings).toEqual(['x', 'x', 'x']);
  });

  it('checks in the same statement whether the parent exists', () => {
    const { text: sql, bindings } = countSql(byJoinTable);
    expect(sql).toContain('exists (select 1 from "devices" where "id" = ?) as parent_exists');
    expect(bindings).toEqual([7, 7, 7]);
  });

  it('reads the view of the part that the filter asks for', () => {
    const parts = { attribute: 'name', views: { x: 'tags_named_x' } };
    const part = { ...named, shape: { ...tags, isView: true, parts } };
    expect(rowsSql(part).text).toContain('from "tags_named_x" as t0 where');
    expect(countSql(part).text).toContain('from "tags_named_x" as t0 where');
    expect(countSql({ ...part, filter: [] }).text).toContain('from "tags" as t0 where');
    const [node] = named.filter;
    const others: ListQuery['filter'] = [{ kind: 'not', node: node as never }];
    expect(rowsSql({ ...part, filter: others }).text).toContain('from "tags" as t0 where');
  });

  it('estimates the matches of a view by its sample, and counts those of others', () => {
    const view = { ...tags, isView: true };
    expect(countSql({ ...named, shape: view }).text).not.toContain('estimate');
    const sampled = countSql({ ...named, shape: { ...view, sample: 'tag_sample' } }).text;
    expect(sampled).toContain('select count(*) from "tag_sample" as t0 where');
    expect(sampled).toContain(' * 100)::bigint end as estimate');
    expect(sampled).not.toContain('tablesample');
  });
});
