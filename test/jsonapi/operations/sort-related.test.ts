import request, { type Response } from 'supertest';
import { createLibrary, insert } from '../library.js';
import type { TestApi } from '../test-api.js';

let api: TestApi;
let books: Record<string, number>;

beforeAll(async () => {
  api = await createLibrary();
  const [low, high, bare] = await insert(api, 'shelves', [
    { name: 'low', capacity: 10, visits: 3 },
    { name: 'high', capacity: 2, visits: 1 },
    { name: 'bare', capacity: null, visits: 2 },
  ]);
  const rows = [
    { title: 'Lowest', kind: 'novel', shelf_id: low },
    { title: 'Homeless', kind: 'novel', shelf_id: null },
    { title: 'High', kind: 'atlas', shelf_id: high },
    { title: 'Bare', kind: 'novel', shelf_id: bare },
    { title: 'Low', kind: 'novel', shelf_id: low },
  ];
  const ids = await insert(api, 'books', rows);
  books = Object.fromEntries(rows.map(({ title }, index) => [title, ids[index] ?? 0]));
  await insert(
    api,
    'pages',
    ids.map((book_id, index) => ({ number: 10 - index, book_id })),
  );
});
afterAll(() => api.close());

function get(query: Record<string, string>, path = '/books') {
  return request(api.app).get(`/api/v1${path}`).query(query);
}

function titles({ body }: Response): string[] {
  return body.data.map(({ attributes }: { attributes: { title: string } }) => attributes.title);
}

/** The list page by page, each of two rows, in either direction. */
async function walked(sort: string, direction: 'next' | 'prev'): Promise<string[]> {
  const found: string[] = [];
  const first = direction === 'next' ? 'page[after]' : 'page[before]';
  let answer = await get({ sort, 'page[size]': '2', [first]: '' });
  for (;;) {
    expect(answer.status).toBe(200);
    if (direction === 'next') found.push(...titles(answer));
    else found.unshift(...titles(answer));
    const link = answer.body.links[direction];
    if (link === null) return found;
    answer = await request(api.app).get(link);
  }
}

const ORDERS: [sort: string, titles: string[]][] = [
  ['shelf.name', ['Bare', 'High', 'Lowest', 'Low', 'Homeless']],
  ['-shelf.name', ['Low', 'Lowest', 'High', 'Bare', 'Homeless']],
  // Rows without a value last: a shelf without a capacity, a book without a shelf.
  ['shelf.capacity,title', ['High', 'Low', 'Lowest', 'Bare', 'Homeless']],
  ['-shelf.capacity,title', ['Low', 'Lowest', 'High', 'Bare', 'Homeless']],
  ['kind,-shelf.visits,title', ['High', 'Low', 'Lowest', 'Bare', 'Homeless']],
];

describe('a list sorted by what its rows point to', () => {
  it.each(ORDERS)('by %s', async (sort, expected) => {
    expect(titles(await get({ sort }))).toEqual(expected);
    expect(await walked(sort, 'next')).toEqual(expected);
    expect(await walked(sort, 'prev')).toEqual(expected);
  });

  it('by number of the page, with a filter, and below a parent', async () => {
    const sort = '-shelf.name';
    const second = await get({ sort, 'page[size]': '2', 'page[number]': '2' });
    expect(titles(second)).toEqual(['High', 'Bare']);
    expect(titles(await get({ sort, 'filter[kind]': 'novel' }))).toEqual([
      'Low',
      'Lowest',
      'Bare',
      'Homeless',
    ]);
    const pages = await get({ sort: 'book.title' }, `/books/${books.High}/pages`);
    expect(pages.body.data).toHaveLength(1);
  });

  it('takes a cursor of the same order only', async () => {
    const { body } = await get({ sort: 'shelf.name', 'page[size]': '2', 'page[after]': '' });
    const cursor = new URLSearchParams(body.links.next.split('?')[1]).get('page[after]') ?? '';
    const other = await get({ sort: 'title', 'page[after]': cursor });
    expect(other.status).toBe(400);
    expect(other.body.errors[0].source).toEqual({ parameter: 'page[after]' });
  });
});
