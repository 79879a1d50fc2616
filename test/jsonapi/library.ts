import { integer, oneOf, text } from '../../src/jsonapi/definition/attributes.js';
import {
  type Access,
  defineResource,
  type ResourceDefinition,
} from '../../src/jsonapi/definition/definition.js';
import { createTestApi, type TestApi } from './test-api.js';

const SCHEMA = `
create table shelves (
  id bigint generated always as identity primary key,
  name text not null unique,
  capacity integer check (capacity between 1 and 100),
  visits integer not null default 0
);
create table books (
  id bigint generated always as identity primary key,
  title text not null,
  kind text not null check (kind in ('novel', 'atlas')),
  position integer,
  shelf_id bigint references shelves (id),
  unique (shelf_id, position)
);
create table pages (
  id bigint generated always as identity primary key,
  number integer not null,
  book_id bigint not null references books (id) on delete cascade
);
create table keywords (
  id bigint generated always as identity primary key,
  name text not null unique
);
create table book_keywords (
  book_id bigint not null references books (id) on delete cascade,
  keyword_id bigint not null references keywords (id) on delete cascade,
  primary key (book_id, keyword_id)
);
`;

const access: Access = {
  read: 'viewer',
  create: 'operator',
  update: 'operator',
  delete: 'operator',
};

const shelves = defineResource({
  type: 'shelves',
  path: '/shelves',
  table: 'shelves',
  access,
  attributes: {
    name: text({ required: true, min: 1, max: 100 }),
    capacity: integer(),
    visits: integer({ nullable: false, volatile: true }),
  },
  relationships: {
    books: {
      kind: 'toMany',
      type: 'books',
      via: { foreignKey: 'shelf_id' },
      except: { column: 'kind', value: 'atlas' },
      write: 'document',
    },
  },
});

/** `{"novel": "title"}` instead of a document. */
function fromTitle(body: unknown): unknown {
  const { novel } = (body ?? {}) as { novel?: unknown };
  if (novel === undefined) return body;
  return { data: { type: 'books', attributes: { title: novel, kind: 'novel' } } };
}

const books = defineResource({
  type: 'books',
  path: '/books',
  table: 'books',
  access: { ...access, update: 'admin' },
  attributes: {
    title: text({ required: true, min: 1, max: 100 }),
    kind: oneOf(['novel', 'atlas'], { required: true }),
    position: integer({ min: 1 }),
  },
  relationships: {
    shelf: { kind: 'toOne', type: 'shelves', column: 'shelf_id', write: 'always' },
    pages: { kind: 'toMany', type: 'pages', via: { foreignKey: 'book_id' }, write: 'endpoint' },
    keywords: {
      kind: 'toMany',
      type: 'keywords',
      via: { table: 'book_keywords', own: 'book_id', other: 'keyword_id' },
      write: 'document',
    },
  },
  views: [
    { path: '/novels', attribute: 'kind', value: 'novel' },
    { path: '/atlases', attribute: 'kind', value: 'atlas' },
  ],
  alwaysArray: true,
  adaptCreate: fromTitle,
});

const pages = defineResource({
  type: 'pages',
  path: '/pages',
  table: 'pages',
  access,
  attributes: { number: integer({ required: true, min: 1 }) },
  relationships: {
    book: { kind: 'toOne', type: 'books', column: 'book_id', required: true, write: 'always' },
  },
});

const keywords = defineResource({
  type: 'keywords',
  path: '/keywords',
  table: 'keywords',
  access,
  attributes: { name: text({ required: true, min: 1, max: 100 }) },
  relationships: {
    books: {
      kind: 'toMany',
      type: 'books',
      via: { table: 'book_keywords', own: 'keyword_id', other: 'book_id' },
      write: 'endpoint',
    },
  },
});

const definitions: ResourceDefinition[] = [shelves, books, pages, keywords];

/** A small set of made-up resources: every kind of relationship, a view, an array document. */
export function createLibrary(): Promise<TestApi> {
  return createTestApi({ definitions, schema: SCHEMA });
}

/** The ids of the rows inserted, in their order. */
export async function insert({ knex }: TestApi, table: string, rows: object[]): Promise<number[]> {
  const inserted = await knex(table).insert(rows).returning('id');
  return inserted.map(({ id }) => Number(id));
}

export async function insertOne(api: TestApi, table: string, row: object): Promise<number> {
  const [id = 0] = await insert(api, table, [row]);
  return id;
}
