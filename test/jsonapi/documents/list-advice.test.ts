import { AppError } from '../../../src/errors.js';
import { withAdvice } from '../../../src/jsonapi/documents/list-advice.js';
import type { FilterNode } from '../../../src/jsonapi/query/filter-node.js';

const name = { name: 'name', kind: 'text' as const, ignoreCase: false };
const asked = {
  filter: [],
  sort: [],
  page: { number: 1, size: 30 },
  totalMode: 'upToLimit' as const,
};
const shape = { type: 'tags', table: 'tags', attributes: {}, relationships: {} };
const relation = { kind: 'toOne' as const, type: 'tags', column: 'x', write: 'never' as const };
const error = new AppError('query_too_expensive', 400, 'This list takes the database too long');

const text = (op: 'ilike' | 'contains' | 'startswith', column = name): FilterNode => ({
  kind: 'text',
  column,
  op,
  value: 'x',
});
const across = (node: FilterNode): FilterNode => ({ kind: 'related', relation, shape, node });

type Asked = Parameters<typeof withAdvice>[1];

function advice(query: Partial<Asked>): [parameter: string | undefined, text: string] {
  const { source, message } = withAdvice(error, { ...asked, ...query }) as AppError;
  return [source?.parameter, message.slice(error.message.length)];
}

describe('the advice on a list that is too expensive', () => {
  it.each<[string, Partial<Asked>, [string, string]]>([
    [
      'names the attributes searched inside their text',
      { filter: [{ kind: 'not', node: text('ilike') }, text('contains', { ...name, name: 'b' })] },
      [
        'filter',
        ': replace the search inside name and b by eq, in_ or startswith; add a rule that few resources match',
      ],
    ],
    [
      'counts the relationships inside each other',
      { filter: [{ kind: 'or', nodes: [across(across(text('startswith')))] }] },
      ['filter', ': filter across fewer than 2 relationships; add a rule that few resources match'],
    ],
    [
      'is a rule that few match where the filter has no index',
      { filter: [{ kind: 'null', column: name }] },
      ['filter', ': add a rule that few resources match'],
    ],
    [
      'names an exact total',
      { totalMode: 'exact' },
      ['page[total]', ': leave out page[total]=exact'],
    ],
    [
      'names a page far behind',
      { page: { number: 5000, size: 30 } },
      ['page[number]', ': walk the list by page[after] in place of page[number]'],
    ],
    [
      'names the sort',
      { sort: [{ column: 'color', descending: true }] },
      ['sort', ': leave out sort=color'],
    ],
    [
      'is a smaller page where nothing else is known',
      {},
      [
        'page[size]',
        ': ask for a smaller page[size], or name the fields you need with fields[type]',
      ],
    ],
  ])('%s', (_what, query, expected) => {
    expect(advice(query)).toEqual(expected);
  });

  it('leaves other errors unchanged', () => {
    const other = new AppError('not_found', 404, 'x');
    expect(withAdvice(other, asked)).toBe(other);
  });
});
