import { cursorOf, queryString } from '../../web/src/api/query-string.js';
import { readListState, writeListState } from '../../web/src/features/devices/list-state.js';

describe('the address of the device list', () => {
  it('holds search, health and sort', () => {
    const state = { search: 'C02 & co', health: 'stuck', sort: '-last_seen' };
    const written = writeListState(state);
    expect(written).toBe('?q=C02+%26+co&health=stuck&sort=-last_seen');
    expect(readListState(written)).toEqual(state);
  });

  it('counts what is not valid as not given', () => {
    const nothing = { search: '', health: '', sort: '' };
    expect(readListState('?health=%3Cscript%3E&sort=password')).toEqual(nothing);
    expect(writeListState(nothing)).toBe('');
  });
});

describe('the query of a list', () => {
  it('searches for the text itself where it holds characters of patterns', () => {
    const [rule] = new URLSearchParams(queryString({ search: ' 50%_\\ ' })).getAll('filter[]');
    const val = '%50\\%\\_\\\\%';
    expect(JSON.parse(rule ?? '')).toEqual({
      or: ['device_name', 'serial_number', 'udid', 'asset_tag'].map((name) => ({
        name,
        op: 'ilike',
        val,
      })),
    });
  });

  it('asks for the first page with an empty cursor', () => {
    const query = queryString({
      fields: { tags: ['name', 'color'] },
      size: 5,
      after: '',
      sort: '',
    });
    expect(decodeURIComponent(query)).toBe('fields[tags]=name,color&page[size]=5&page[after]=');
  });

  it('finds the cursor in the link to the next page', () => {
    expect(cursorOf('/api/v1/tags?page%5Bafter%5D=abc&sort=name')).toBe('abc');
    expect(cursorOf(null)).toBeUndefined();
    expect(cursorOf('/api/v1/tags?page%5Bnumber%5D=2')).toBeUndefined();
  });
});
