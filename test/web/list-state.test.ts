import { queryString } from '../../web/src/api/query-string';
import { nextSort } from '../../web/src/features/devices/search';

describe('the query of a list', () => {
  it('names fields and pages as JSON:API does and leaves out what is not given', () => {
    const query = queryString({
      fields: { tags: ['name', 'color'] },
      page: { size: 5 },
      sort: undefined,
    });
    expect(decodeURIComponent(query)).toBe('fields[tags]=name,color&page[size]=5');
  });
});

describe('a click on a heading', () => {
  it('sorts ascending, then descending, then not at all', () => {
    expect(nextSort('name', undefined)).toBe('name');
    expect(nextSort('name', 'name')).toBe('-name');
    expect(nextSort('name', '-name')).toBeUndefined();
  });
});
