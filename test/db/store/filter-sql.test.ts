import { filterSql } from '../../../src/db/store/filter-sql.js';
import type { Column, FilterNode } from '../../../src/jsonapi/query/filter-node.js';

const name: Column = { name: 'name', kind: 'text', ignoreCase: false };
const udid: Column = { name: 'udid', kind: 'text', ignoreCase: true };
const seen: Column = { name: 'seen', kind: 'timestamp', ignoreCase: false };
const tags = { type: 'tags', table: 'tags', attributes: {}, relationships: {} };
const isX: FilterNode = { kind: 'compare', column: name, op: 'eq', value: 'x' };

describe('filterSql', () => {
  it('binds every value and casts it to the type of its column', () => {
    expect(filterSql(isX)).toEqual({ text: 't0."name" = ?::text', bindings: ['x'] });
    const size: Column = { name: 'size', kind: 'integer', ignoreCase: false };
    expect(filterSql({ kind: 'in', column: size, values: [1, 2] })).toEqual({
      text: 't0."size" = any(?::bigint[])',
      bindings: [[1, 2]],
    });
  });

  it('compares both sides in lower case if case is ignored', () => {
    const eq: FilterNode = { kind: 'compare', column: udid, op: 'eq', value: 'A' };
    expect(filterSql(eq)).toEqual({ text: 'lower(t0."udid") = lower(?::text)', bindings: ['A'] });
  });

  it('searches parts of text ignoring case if case is ignored', () => {
    const starts: FilterNode = { kind: 'text', column: udid, op: 'startswith', value: 'Ab' };
    expect(filterSql(starts)).toEqual({ text: 't0."udid" ilike ?::text', bindings: ['Ab%'] });
  });

  it('finds a flag by its position, where an index has it', () => {
    const apart = { true: ['c'], false: [] };
    const foundBy = { flags: { true: ['a', 'b', 'c'], false: ['b'], apart } };
    const flag = (name: string): Column => ({ name, kind: 'boolean', ignoreCase: false, foundBy });
    const eq = (name: string, value: boolean) =>
      filterSql({ kind: 'compare', column: flag(name), op: 'eq', value });
    expect(eq('b', true)).toEqual({
      text: '(array_positions(array[t0."a", t0."b", t0."c"], true) @> array[?::integer] and t0."b" is true and t0."b" = ?::boolean)',
      bindings: [2, true],
    });
    expect(eq('b', false)).toEqual({
      text: '(array_positions(array[t0."b"], false) @> array[?::integer] and t0."b" is false and t0."b" = ?::boolean)',
      bindings: [1, false],
    });
    expect(eq('a', false)).toEqual({ text: 't0."a" = ?::boolean', bindings: [false] });
    expect(eq('c', true)).toEqual({ text: 't0."c" = ?::boolean', bindings: [true] });
  });

  it('finds an equal value by the beginning that an index has of it', () => {
    const column = (name: string, kind: Column['kind'], ignoreCase = false): Column => {
      return { name, kind, ignoreCase };
    };
    const columns = [column('a', 'integer'), column('b', 'text'), column('c', 'text', true)];
    const foundBy = { values: columns };
    const [whole, , insensitive] = columns.map((one) => ({ ...one, foundBy }));
    const stored = `array['1:' || t0."a"::text, '2:' || left(t0."b", 64), '3:' || left(lower(t0."c"), 64)]`;
    expect(filterSql({ kind: 'compare', column: whole as Column, op: 'eq', value: 7 })).toEqual({
      text: `(${stored} @> array['1:' || left(?::text, 64)] and t0."a" = ?::bigint)`,
      bindings: ['7', 7],
    });
    const eq = { kind: 'compare', column: insensitive as Column, op: 'eq', value: 'X' } as const;
    expect(filterSql(eq)).toEqual({
      text: `(${stored} @> array['3:' || left(lower(?::text), 64)] and lower(t0."c") = lower(?::text))`,
      bindings: ['X', 'X'],
    });
    expect(filterSql({ kind: 'compare', column: whole as Column, op: 'ne', value: 7 })).toEqual({
      text: 't0."a" is distinct from ?::bigint',
      bindings: [7],
    });
  });

  it('matches a time by its whole millisecond', () => {
    const value = new Date('2026-03-26T23:42:09.120Z');
    const compare = (op: 'eq' | 'gt' | 'le') =>
      filterSql({ kind: 'compare', column: seen, op, value });
    const at = value.toISOString();
    expect(compare('eq')).toEqual({
      text: `(t0."seen" >= ?::timestamptz and t0."seen" < ?::timestamptz + interval '1 millisecond')`,
      bindings: [at, at],
    });
    expect(compare('gt')).toEqual({
      text: `t0."seen" >= ?::timestamptz + interval '1 millisecond'`,
      bindings: [at],
    });
    expect(compare('le')).toEqual({
      text: `t0."seen" < ?::timestamptz + interval '1 millisecond'`,
      bindings: [at],
    });
  });

  it('counts a duration back from now', () => {
    expect(filterSql({ kind: 'age', column: seen, op: 'lt', hours: 720 })).toEqual({
      text: `t0."seen" < now() - ?::integer * interval '1 hour'`,
      bindings: [720],
    });
  });

  it('escapes wildcards in parts of text but not in patterns', () => {
    const text = (op: 'contains' | 'startswith' | 'like') =>
      filterSql({ kind: 'text', column: name, op, value: '5%_\\' }).bindings;
    expect(text('contains')).toEqual(['%5\\%\\_\\\\%']);
    expect(text('startswith')).toEqual(['5\\%\\_\\\\%']);
    expect(text('like')).toEqual(['5%_\\']);
  });

  it('keeps combinations together and their bindings in order', () => {
    const isY: FilterNode = { kind: 'compare', column: name, op: 'ne', value: 'y' };
    const node: FilterNode = {
      kind: 'not',
      node: { kind: 'or', nodes: [isX, { kind: 'and', nodes: [isY, isX] }] },
    };
    expect(filterSql(node)).toEqual({
      text: '((t0."name" = ?::text or (t0."name" is distinct from ?::text and t0."name" = ?::text))) is not true',
      bindings: ['x', 'y', 'x'],
    });
  });

  it('reaches related rows over a join table, a foreign key and a to-one column', () => {
    const base = { kind: 'related', shape: tags, node: isX } as const;
    const via = { table: 'device_tags', own: 'device_id', other: 'tag_id' };
    expect(filterSql({ ...base, relation: { kind: 'toMany', type: 'tags', via } }).text).toBe(
      'exists (select 1 from "device_tags" as j1 join "tags" as t1 on t1."id" = j1."tag_id" where j1."device_id" = t0."id" and t1."name" = ?::text)',
    );
    const foreignKey = { foreignKey: 'device_id' };
    expect(
      filterSql({ ...base, relation: { kind: 'toMany', type: 'tags', via: foreignKey } }).text,
    ).toBe(
      'exists (select 1 from "tags" as t1 where t1."device_id" = t0."id" and t1."name" = ?::text)',
    );
    const toOne = { kind: 'toOne', type: 'tags', column: 'tag_id', write: 'always' } as const;
    expect(filterSql({ ...base, relation: toOne }).text).toBe(
      'exists (select 1 from "tags" as t1 where t1."id" = t0."tag_id" and t1."name" = ?::text)',
    );
  });

  it('negates related rows in a form that can be an anti-join', () => {
    const via = { table: 'device_tags', own: 'device_id', other: 'tag_id' };
    const relation = { kind: 'toMany', type: 'tags', via } as const;
    const node: FilterNode = { kind: 'related', relation, shape: tags, node: isX };
    expect(filterSql({ kind: 'not', node }).text).toMatch(/^not exists \(select 1 from/);
  });
});
