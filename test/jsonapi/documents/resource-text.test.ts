import { json, text, timestamp } from '../../../src/jsonapi/definition/attributes.js';
import { createRegistry, defineResource } from '../../../src/jsonapi/definition/definition.js';
import {
  type Document,
  type Linkage,
  type SerializeOptions,
  serialize,
} from '../../../src/jsonapi/documents/document.js';
import { project } from '../../../src/jsonapi/documents/projection.js';
import { resourceText } from '../../../src/jsonapi/documents/resource-text.js';
import { withStringIds } from '../../../src/jsonapi/documents/string-ids.js';
import type { Row } from '../../../src/jsonapi/store.js';

const access = { read: 'viewer', create: null, update: null, delete: null } as const;

const books = defineResource({
  type: 'books',
  path: '/books',
  table: 'books',
  access,
  attributes: {
    unset: text({ derivedFrom: ['title'] }),
    title: text(),
    shout: text({ derivedFrom: ['title'] }),
    notes: json(),
    at: timestamp(),
    size: text(),
  },
  relationships: {
    author: { kind: 'toOne', type: 'books', column: 'author_id', write: 'always' },
    sequels: { kind: 'toMany', type: 'books', via: { foreignKey: 'author_id' }, write: 'never' },
  },
  derive: (name, { title }) => (name === 'unset' ? undefined : String(title).toUpperCase()),
});

const registry = createRegistry([books]);

function options(fields?: string[], linkage?: Linkage): SerializeOptions {
  const reader = { registry, actor: { name: 'tester', role: 'viewer' as const } };
  const projection = project(books, { fields: fields && new Set(fields), detail: true, reader });
  return { projection, basePath: '/api/v1', registry, services: {}, linkage };
}

const values: unknown[] = [
  null,
  '',
  'a "quoted" \\ \n\u0000\u001f\u007f\u2028 ä 😀 </script>',
  '\ud800',
  [1, { a: null }],
  0,
  -0,
  1e21,
  5e-324,
  Number.POSITIVE_INFINITY,
  true,
  false,
  new Date('2026-03-26T23:42:09Z'),
  new Date('2026-03-26T23:42:09.120Z'),
];

describe('resourceText', () => {
  it.each(values)('equals the output of serialize, with %p', (value) => {
    const row: Row = { id: 7, title: 'x', author_id: null, notes: value, at: value, size: value };
    expect(resourceText(row, options())).toBe(JSON.stringify(serialize(row, options())));
  });

  it('is the same with relationships, linkage and sparse fieldsets', () => {
    const row: Row = { id: 7, title: 'x', author_id: 8 };
    const linkage: Linkage = new Map([['sequels', new Map([[7, [{ type: 'books', id: 9 }]]])]]);
    const all = [undefined, [], ['title'], ['unset', 'title'], ['author'], ['sequels', 'at']];
    for (const fields of all) {
      for (const given of [undefined, linkage, new Map()]) {
        const chosen = options(fields, given);
        expect(resourceText(row, chosen)).toBe(JSON.stringify(serialize(row, chosen)));
        const { data } = withStringIds({ data: serialize(row, chosen) } as Document) as Document;
        expect(resourceText(row, { ...chosen, stringIds: true })).toBe(JSON.stringify(data));
      }
    }
  });
});
