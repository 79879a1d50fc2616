import {
  bool,
  integer,
  json,
  oneOf,
  text,
  timestamp,
} from '../../../src/jsonapi/definition/attributes.js';
import {
  createRegistry,
  defineResource,
  type ResourceDefinition,
} from '../../../src/jsonapi/definition/definition.js';
import { parseFilter } from '../../../src/jsonapi/query/filter.js';

const access = { read: 'viewer', create: null, update: null, delete: null } as const;

const books: ResourceDefinition = defineResource({
  type: 'books',
  path: '/books',
  table: 'books',
  access,
  attributes: {
    title: text(),
    subtitle: text(),
    kind: oneOf(['novel', 'poem']),
    pages: integer(),
    lent: bool(),
    bought_at: timestamp(),
    notes: json(),
    secret: text({ writeOnly: true }),
  },
  relationships: {
    author: { kind: 'toOne', type: 'authors', column: 'author_id', write: 'always' },
    diaries: {
      kind: 'toMany',
      type: 'diaries',
      via: { table: 'book_diaries', own: 'book_id', other: 'diary_id' },
      write: 'document',
    },
  },
});

const authors: ResourceDefinition = defineResource({
  type: 'authors',
  path: '/authors',
  table: 'authors',
  access,
  attributes: { name: text({ ignoreCase: true }) },
  relationships: {
    books: { kind: 'toMany', type: 'books', via: { foreignKey: 'author_id' }, write: 'never' },
  },
});

const diaries: ResourceDefinition = defineResource({
  type: 'diaries',
  path: '/diaries',
  table: 'diaries',
  access: { ...access, read: 'admin' },
  attributes: { title: text() },
  relationships: {},
});

const registry = createRegistry([books, authors, diaries]);

function parse(rules: unknown, parameter = 'filter') {
  const value = typeof rules === 'string' ? rules : JSON.stringify(rules);
  const actor = { name: 'v', role: 'viewer' } as const;
  return parseFilter({ parameter, value }, books, { registry, actor, rules: 0 });
}

const title = { name: 'title', kind: 'text', ignoreCase: false };

describe('parseFilter refuses with 400 naming the parameter', () => {
  const nest = (depth: number): unknown =>
    depth === 0 ? { name: 'title', op: 'eq', val: 'x' } : { not: nest(depth - 1) };

  it.each<[string, unknown]>([
    ['what is not JSON', '[{'],
    ['text instead of a rule', '"title"'],
    ['a rule that is no object', ['title']],
    ['a rule without an operator', [{ name: 'title', val: 'x' }]],
    ['a rule without a name', [{ op: 'eq', val: 'x' }]],
    ['a rule without value and field', [{ name: 'title', op: 'eq' }]],
    ['a rule with value and field', [{ name: 'title', op: 'eq', val: 'x', field: 'subtitle' }]],
    ['an unknown member', [{ name: 'title', op: 'eq', val: 'x', extra: 1 }]],
    ['an unknown name', [{ name: 'nonsense', op: 'eq', val: 'x' }]],
    ['a name of every object', [{ name: 'constructor', op: 'eq', val: 'x' }]],
    ['an unknown operator', [{ name: 'title', op: 'match', val: 'x' }]],
    ['an operator of every object', [{ name: 'title', op: 'toString', val: 'x' }]],
    ['a JSON attribute', [{ name: 'notes', op: 'eq', val: 'x' }]],
    ['a write-only attribute', [{ name: 'secret', op: 'eq', val: 'x' }]],
    ['a number for text', [{ name: 'title', op: 'eq', val: 7 }]],
    ['text for a number', [{ name: 'pages', op: 'gt', val: 'many' }]],
    ['a fraction for a whole number', [{ name: 'pages', op: 'gt', val: 1.5 }]],
    ['a number beyond the exact ones', [{ name: 'pages', op: 'gt', val: 1e300 }]],
    ['a word for a boolean', [{ name: 'lent', op: 'eq', val: 'perhaps' }]],
    ['an order of booleans', [{ name: 'lent', op: 'gt', val: true }]],
    ['a range of booleans', [{ name: 'lent', op: 'between', val: [true, false] }]],
    ['a time without offset', [{ name: 'bought_at', op: 'eq', val: '2026-03-26T00:00:00' }]],
    ['a duration that a time shall equal', [{ name: 'bought_at', op: 'eq', val: 'P1D' }]],
    ['a duration of months', [{ name: 'bought_at', op: 'lt', val: 'P1M' }]],
    ['a duration of minutes', [{ name: 'bought_at', op: 'lt', val: 'PT90M' }]],
    ['no duration', [{ name: 'bought_at', op: 'lt', val: 'P' }]],
    ['a duration of nothing', [{ name: 'bought_at', op: 'lt', val: 'PT0H' }]],
    ['more than ten years', [{ name: 'bought_at', op: 'lt', val: 'P9999W' }]],
    ['a duration for text', [{ name: 'pages', op: 'lt', val: 'P1D' }]],
    ['a value that the enum lacks', [{ name: 'kind', op: 'eq', val: 'essay' }]],
    ['an order against null', [{ name: 'pages', op: 'gt', val: null }]],
    ['a pattern for a number', [{ name: 'pages', op: 'like', val: '1%' }]],
    ['a pattern that is no text', [{ name: 'title', op: 'like', val: 1 }]],
    ['a pattern that ends in its escape', [{ name: 'title', op: 'like', val: 'a\\\\\\' }]],
    ['NUL', [{ name: 'title', op: 'eq', val: 'a\0' }]],
    ['in_ without an array', [{ name: 'title', op: 'in_', val: 'a' }]],
    ['in_ with null', [{ name: 'title', op: 'in_', val: [null] }]],
    ['in_ with too many', [{ name: 'pages', op: 'in_', val: Array(1001).fill(1) }]],
    ['between with one value', [{ name: 'pages', op: 'between', val: [1] }]],
    ['is_ with a value', [{ name: 'title', op: 'is_', val: 'x' }]],
    ['fields of two types', [{ name: 'title', op: 'eq', field: 'pages' }]],
    ['an unknown field', [{ name: 'title', op: 'eq', field: 'nonsense' }]],
    ['a pattern between fields', [{ name: 'title', op: 'like', field: 'subtitle' }]],
    ['an empty and', [{ and: [] }]],
    ['an or without an array', [{ or: { name: 'title', op: 'eq', val: 'x' } }]],
    ['a combination beside a rule', [{ or: [], name: 'title' }]],
    ['any on a to-one relationship', [{ name: 'author', op: 'any', val: nest(0) }]],
    ['eq on a to-many relationship', [{ name: 'diaries', op: 'eq', val: 1 }]],
    ['an order of ids', [{ name: 'author', op: 'gt', val: 1 }]],
    ['a pattern for ids', [{ name: 'author', op: 'like', val: '1%' }]],
    ['a word for an id', [{ name: 'author', op: 'eq', val: 'x' }]],
    ['a field for an id', [{ name: 'author', op: 'eq', field: 'pages' }]],
    ['has without a rule', [{ name: 'author', op: 'has', val: 'x' }]],
    ['an unknown relationship', [{ name: 'shelf__name', op: 'eq', val: 'x' }]],
    ['a name without its end', [{ name: 'author__', op: 'eq', val: 'x' }]],
    ['a name without its start', [{ name: '__name', op: 'eq', val: 'x' }]],
    [
      'a closed relationship behind an open one',
      [{ name: 'author__books__diaries__title', op: 'eq', val: 'x' }],
    ],
    ['an unknown name at the other end', [{ name: 'author__age', op: 'eq', val: 1 }]],
    ['a relationship closed to the role', [{ name: 'diaries__title', op: 'eq', val: 'x' }]],
    ['six levels', [nest(6)]],
    ['more than 50 rules', Array(51).fill(nest(0))],
  ])('%s', (_what, rules) => {
    expect(() => parse(rules)).toThrow(
      expect.objectContaining({
        status: 400,
        code: 'invalid_parameter',
        source: { parameter: 'filter' },
      }),
    );
  });

  it.each([
    { and: [nest(0)], or: [] },
    { not: nest(0), name: 'title' },
    { ...(nest(0) as object), or: [] },
  ])('a combination with other members, and explains it: %j', (rule) => {
    const message = '"and", "or" and "not" each stand alone in a rule';
    expect(() => parse([rule])).toThrow(expect.objectContaining({ message }));
  });

  it('counts the rules of all parameters together', () => {
    const context = { registry, actor: { name: 'v', role: 'viewer' } as const, rules: 0 };
    const value = JSON.stringify(Array(30).fill(nest(0)));
    parseFilter({ parameter: 'filter', value }, books, context);
    expect(() => parseFilter({ parameter: 'filter[]', value }, books, context)).toThrow(
      expect.objectContaining({ source: { parameter: 'filter[]' } }),
    );
  });
});

describe('parseFilter refuses in the short form with 400 naming the parameter', () => {
  it.each([
    ['filter[kind]', 'novel,essay'],
    ['filter[kind]', 'novel,'],
    ['filter[id]', '1,x'],
    ['filter[author]', 'x'],
    ['filter[author]', ''],
    ['filter[author]', '1,,2'],
    ['filter[diaries]', '1'],
    ['filter[author__diaries]', '1'],
    ['filter[id]', Array(1001).fill(1).join()],
  ])('%s=%s', (parameter, value) => {
    expect(() => parse(value, parameter)).toThrow(
      expect.objectContaining({ status: 400, source: { parameter } }),
    );
  });

  it('a relationship, and names it by its name, not by its column', () => {
    expect(() => parse('x', 'filter[author]')).toThrow('"author" is compared with a whole number');
  });
});

describe('parseFilter reads', () => {
  it.each([
    ['PT1H', 1],
    ['P30D', 720],
    ['P2W', 336],
    ['P1W1DT2H', 194],
  ])('the duration %s as %i hours before now', (val, hours) => {
    const column = { name: 'bought_at', kind: 'timestamp', ignoreCase: false };
    expect(parse([{ name: 'bought_at', op: 'lt', val }])).toEqual([
      { kind: 'age', column, op: 'lt', hours },
    ]);
  });

  it('a single rule outside of an array', () => {
    const rule = { name: 'title', op: 'eq', val: 'x' };
    const expected = { kind: 'compare', column: title, op: 'eq', value: 'x' };
    expect(parse(rule)).toEqual([expected]);
    expect(parse({ not: rule })).toEqual([{ kind: 'not', node: expected }]);
  });

  it('names of operators with and without the underscore', () => {
    const isIn = { kind: 'in', column: title, values: ['a', 'b'] };
    const isNull = { kind: 'null', column: title };
    for (const op of ['in', 'in_']) {
      expect(parse([{ name: 'title', op, val: ['a', 'b'] }])).toEqual([isIn]);
    }
    for (const op of ['notin', 'notin_']) {
      const negated = { kind: 'not', node: isIn };
      expect(parse([{ name: 'title', op, val: ['a', 'b'] }])).toEqual([negated]);
    }
    for (const op of ['is', 'is_']) {
      expect(parse([{ name: 'title', op, val: null }])).toEqual([isNull]);
    }
    expect(parse([{ name: 'title', op: 'isnot', val: null }])).toEqual([
      { kind: 'not', node: isNull },
    ]);
  });

  it('a list of enum values, numbers or ids, and a text with commas as one value', () => {
    expect(parse('novel,poem', 'filter[kind]')).toMatchObject([
      { kind: 'in', values: ['novel', 'poem'] },
    ]);
    expect(parse('7,8', 'filter[pages]')).toMatchObject([{ kind: 'in', values: [7, 8] }]);
    expect(parse('7,8', 'filter[id]')).toMatchObject([{ kind: 'in', values: [7, 8] }]);
    expect(parse('novel', 'filter[kind]')).toMatchObject([{ kind: 'compare', value: 'novel' }]);
    expect(parse('a,b', 'filter[title]')).toMatchObject([{ kind: 'compare', value: 'a,b' }]);
    expect(parse('novel,poem', 'filter[author__books__kind]')).toMatchObject([
      { node: { node: { kind: 'in', values: ['novel', 'poem'] } } },
    ]);
    expect(() => parse([{ name: 'kind', op: 'eq', val: 'novel,poem' }])).toThrow('one of');
  });

  it('a relationship with an id as a rule on that id', () => {
    const column = { name: 'author_id', label: 'author', kind: 'integer', ignoreCase: false };
    const one = { kind: 'compare', column, op: 'eq', value: 1 };
    const two = { kind: 'in', column, values: [1, 2] };
    expect(parse('1', 'filter[author]')).toEqual([one]);
    expect(parse('1,2', 'filter[author]')).toEqual([two]);
    expect(parse([{ name: 'author', op: 'eq', val: 1 }])).toEqual([one]);
    expect(parse([{ name: 'author', op: 'eq', val: '1' }])).toEqual([one]);
    expect(parse([{ name: 'author', op: 'in', val: [1, 2] }])).toEqual([two]);
    expect(parse([{ name: 'author', op: 'is', val: null }])).toEqual([{ kind: 'null', column }]);
    const id = { name: 'id', label: 'books', kind: 'integer', ignoreCase: false };
    expect(parse('1,2', 'filter[author__books]')).toEqual([
      {
        kind: 'related',
        relation: books.relationships.author,
        shape: authors,
        node: {
          kind: 'related',
          relation: authors.relationships.books,
          shape: books,
          node: { kind: 'in', column: id, values: [1, 2] },
        },
      },
    ]);
  });

  it('the three forms of a rule', () => {
    const expected = [{ kind: 'compare', column: title, op: 'eq', value: 'x' }];
    const rule = { name: 'title', op: 'eq', val: 'x' };
    expect(parse([rule])).toEqual(expected);
    expect(parse(rule, 'filter[]')).toEqual(expected);
    expect(parse([rule], 'filter[]')).toEqual(expected);
    expect(parse('x', 'filter[title]')).toEqual(expected);
  });

  it('values in the type of the column, from JSON or from text', () => {
    const pages = { name: 'pages', kind: 'integer', ignoreCase: false };
    const compare = { kind: 'compare', op: 'eq' };
    expect(parse('12', 'filter[pages]')).toEqual([{ ...compare, column: pages, value: 12 }]);
    expect(parse([{ name: 'pages', op: 'eq', val: 12 }])).toEqual([
      { ...compare, column: pages, value: 12 },
    ]);
    expect(parse('false', 'filter[lent]')).toMatchObject([{ value: false }]);
    expect(parse('2026-03-26', 'filter[bought_at]')).toMatchObject([
      { value: new Date('2026-03-26T00:00:00Z') },
    ]);
    expect(parse('7', 'filter[id]')).toMatchObject([{ value: 7, column: { name: 'id' } }]);
  });

  it('five levels of and, or, not', () => {
    const leaf = { name: 'title', op: 'eq', val: 'x' };
    const node = { kind: 'compare', column: title, op: 'eq', value: 'x' };
    expect(parse([{ not: { and: [{ or: [{ not: { and: [leaf] } }] }] } }])).toEqual([
      {
        kind: 'not',
        node: {
          kind: 'and',
          nodes: [{ kind: 'or', nodes: [{ kind: 'not', node: { kind: 'and', nodes: [node] } }] }],
        },
      },
    ]);
  });

  it('relationships by rule, by dotted name and by the short form', () => {
    const name = { name: 'name', kind: 'text', ignoreCase: true };
    const expected = {
      kind: 'related',
      relation: books.relationships.author,
      shape: authors,
      node: { kind: 'compare', column: name, op: 'eq', value: 'x' },
    };
    expect(
      parse([{ name: 'author', op: 'has', val: { name: 'name', op: 'eq', val: 'x' } }]),
    ).toEqual([expected]);
    expect(parse([{ name: 'author__name', op: 'eq', val: 'x' }])).toEqual([expected]);
    expect(parse([{ name: 'author__name', op: 'has', val: 'x' }])).toEqual([expected]);
    expect(parse('x', 'filter[author__name]')).toEqual([expected]);
  });

  it('names across several relationships, each as a level', () => {
    const expected = {
      kind: 'related',
      relation: books.relationships.author,
      shape: authors,
      node: {
        kind: 'related',
        relation: authors.relationships.books,
        shape: books,
        node: { kind: 'compare', column: title, op: 'eq', value: 'x' },
      },
    };
    expect(parse('x', 'filter[author__books__title]')).toEqual([expected]);
    expect(parse([{ name: 'author__books__title', op: 'any', val: 'x' }])).toEqual([expected]);
    const name = 'author__books__author__books__author__books__title';
    expect(() => parse([{ name, op: 'eq', val: 'x' }])).toThrow('5 levels');
  });
});
