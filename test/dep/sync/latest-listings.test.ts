import { latestListings } from '../../../src/dep/sync/store-page.js';
import { listing } from './sync-fixture.js';

type Op = 'added' | 'modified' | 'deleted';

function op(opType: Op | null, minute: number | null, serial = 'C02AAAAAAAA1') {
  const opDate = minute === null ? null : new Date(Date.UTC(2026, 5, 1, 8, minute));
  return listing(serial, { opType, opDate });
}

function lastOf(...operations: ReturnType<typeof op>[]) {
  return latestListings(operations).map(({ opType }) => opType);
}

describe('the latest entry of a serial number on a page', () => {
  it.each<[string, Op, [Op, number | null][]]>([
    [
      'is the later operation',
      'deleted',
      [
        ['added', 1],
        ['deleted', 2],
      ],
    ],
    [
      'is the later operation though it comes first',
      'deleted',
      [
        ['deleted', 2],
        ['added', 1],
      ],
    ],
    [
      'is the last in time of many',
      'added',
      [
        ['added', 3],
        ['deleted', 2],
        ['added', 1],
      ],
    ],
    [
      'is the last on the page of those of one second',
      'added',
      [
        ['deleted', 2],
        ['added', 2],
      ],
    ],
    [
      'is the last on the page where times are missing',
      'deleted',
      [
        ['added', 2],
        ['deleted', null],
      ],
    ],
    [
      'is the last on the page also after one without a time',
      'added',
      [
        ['deleted', null],
        ['added', 1],
      ],
    ],
  ])('%s', (_, last, operations) => {
    expect(lastOf(...operations.map(([type, minute]) => op(type, minute)))).toEqual([last]);
  });

  it('is separate from that of other serial numbers', () => {
    const latest = latestListings([
      op('added', 1),
      op('added', 1, 'C02AAAAAAAA2'),
      op('deleted', 2),
    ]);
    expect(latest.map(({ serialNumber, opType }) => [serialNumber, opType])).toEqual([
      ['C02AAAAAAAA1', 'deleted'],
      ['C02AAAAAAAA2', 'added'],
    ]);
  });
});
