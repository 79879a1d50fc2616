import type { Role } from '../../../src/jsonapi/context.js';
import { text } from '../../../src/jsonapi/definition/attributes.js';
import {
  createRegistry,
  defineResource,
  type ToMany,
} from '../../../src/jsonapi/definition/definition.js';
import type { ToOne } from '../../../src/jsonapi/definition/shape.js';
import { parseInclude, parseSort } from '../../../src/jsonapi/query/fields.js';

const access = { read: 'viewer', create: null, update: null, delete: null } as const;

function joined(type: string): ToMany {
  const via = { table: 'links', own: 'one', other: 'two' };
  return { kind: 'toMany', type, via, write: 'never' };
}

function pointer(type: string): ToOne {
  return { kind: 'toOne', type, column: `${type}_id`, write: 'never' };
}

const RELATIONS = Array.from({ length: 7 }, (_, index) => `r${index}`);
const COLUMNS = Array.from({ length: 11 }, (_, index) => `c${index}`);

const pages = defineResource({
  type: 'pages',
  path: '/pages',
  table: 'pages',
  access,
  attributes: {
    ...Object.fromEntries(COLUMNS.map((name) => [name, text()])),
    hidden: text({ writeOnly: true, sortable: true }),
    inner: text({ readRole: 'admin' }),
  },
  relationships: {
    ...Object.fromEntries(RELATIONS.map((name) => [name, joined('pages')])),
    secrets: joined('secrets'),
    parent: pointer('pages'),
    secret: pointer('secrets'),
  },
});

const secrets = defineResource({
  type: 'secrets',
  path: '/secrets',
  table: 'secrets',
  access: { ...access, read: 'admin' },
  attributes: { kind: text() },
  relationships: { pages: joined('pages') },
});

const registry = createRegistry([pages, secrets]);

const as = (role: Role) => ({ registry, actor: { name: 'reader', role } });

function include(value: string, role: Role = 'viewer') {
  return parseInclude(value, pages, { registry, actor: { name: 'v', role } });
}

function refused(parameter: string) {
  return expect.objectContaining({ status: 400, source: { parameter } });
}

describe('parseInclude', () => {
  it('accepts paths of three steps', () => {
    expect(include('r0,r1.r2.r3,r1.r2.r3')).toEqual(['r0', 'r1.r2.r3']);
    expect(() => include('r0.r1.r2.r3')).toThrow(refused('include'));
  });

  it('requires the role of each type on the path, not only of the last', () => {
    for (const path of ['secrets', 'r0.secrets', 'secrets.pages', 'r0.secrets.pages']) {
      expect(() => include(path)).toThrow(refused('include'));
      expect(include(path, 'admin')).toEqual([path]);
    }
  });

  it('counts the steps of all paths, shared ones once', () => {
    const paths = RELATIONS.slice(0, 5).flatMap((first) =>
      RELATIONS.map((second) => `${first}.${second}`),
    );
    expect(include(paths.join())).toHaveLength(35);
    expect(() => include([...paths, 'r5'].join())).toThrow(refused('include'));
  });
});

describe('parseSort', () => {
  it('keeps the first of repeated columns', () => {
    expect(parseSort('-c1,c0,c1,id', pages, as('viewer'))).toEqual([
      { column: 'c1', descending: true },
      { column: 'c0', descending: false },
      { column: 'id', descending: false },
    ]);
  });

  it('accepts an attribute only from a role that may read it', () => {
    expect(() => parseSort('inner', pages, as('operator'))).toThrow(refused('sort'));
    expect(parseSort('inner', pages, as('admin'))).toEqual([
      { column: 'inner', descending: false },
    ]);
  });

  it('follows a to-one relationship to an attribute of its type', () => {
    expect(parseSort('-parent.c1,c1', pages, as('viewer'))).toEqual([
      {
        column: 'c1',
        descending: true,
        related: { relationship: 'parent', foreignKey: 'pages_id', shape: pages },
      },
      { column: 'c1', descending: false },
    ]);
    expect(parseSort('secret.kind', pages, as('admin'))).toMatchObject([{ column: 'kind' }]);
  });

  it.each([
    'r0.c1',
    'secret.kind',
    'secret.nothing',
    'parent.id',
    'parent.hidden',
    'parent.inner',
    'parent.parent.c1',
    'parent.',
    'parent',
    '.c1',
    'constructor.name',
  ])('refuses %s to a viewer', (name) => {
    expect(() => parseSort(name, pages, as('viewer'))).toThrow(refused('sort'));
  });

  it('says what a relationship can be sorted by', () => {
    expect(() => parseSort('parent.c12', pages, as('viewer'))).toThrow(
      /^"parent\.c12": pages can't be sorted by "c12"; /,
    );
    const ofViewer = () => parseSort('parents.c1', pages, as('viewer'));
    expect(ofViewer).toThrow(/parent\.ATTRIBUTE/);
    expect(ofViewer).not.toThrow(/secret\.ATTRIBUTE/);
  });

  it.each(['hidden', '-hidden', 'secrets', 'constructor', '-', COLUMNS.join()])(
    'refuses %s',
    (value) => {
      expect(() => parseSort(value, pages, as('viewer'))).toThrow(refused('sort'));
    },
  );
});
