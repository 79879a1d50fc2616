import { pageOf } from '../../web/src/api/pages.js';

describe('a page of a list', () => {
  it('has the cursor of the next page, and the total', () => {
    const next = '/api/v1/devices/1/commands?page%5Bafter%5D=abc&page%5Bsize%5D=50';
    const data = [{ id: 7, attributes: { status: 'Sent' } }];
    expect(pageOf({ data, links: { next }, meta: { total: 80 } })).toEqual({
      rows: [{ id: 7, status: 'Sent' }],
      total: 80,
      next: 'abc',
    });
  });

  it('has no cursor when it is the last one', () => {
    expect(pageOf({ data: [], links: { next: null }, meta: { total: 0 } }).next).toBeUndefined();
  });
});
