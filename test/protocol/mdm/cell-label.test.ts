import { chooseCell, readCell, withCell } from '../../../src/protocol/mdm/cell-label.js';

const SERVER_URL = 'https://mdm.example.com/mdm';

describe('the cell of a serial number', () => {
  it('is the same in every process and version, since devices keep it for life', () => {
    expect(['C02XK0AAJGH5', 'F2LADE000001', 'DMPXK01XJ1GG'].map(chooseCell)).toEqual([7, 10, 20]);
    expect(chooseCell('c02xk0aajgh5')).toBe(chooseCell('C02XK0AAJGH5'));
  });

  it('spreads serial numbers evenly over 64 cells', () => {
    const counts = new Array<number>(64).fill(0);
    for (let number = 0; number < 64_000; number += 1) {
      const cell = chooseCell(`C02${String(number).padStart(9, '0')}`);
      counts[cell] = (counts[cell] ?? 0) + 1;
    }
    expect(Math.min(...counts)).toBeGreaterThan(800);
    expect(Math.max(...counts)).toBeLessThan(1_200);
  });

  it('is a random one of all 64 without a serial number', () => {
    const cells = Array.from({ length: 5_000 }, () => chooseCell(undefined));
    expect([...new Set(cells)].sort((a, b) => a - b)).toEqual(
      Array.from({ length: 64 }, (_, i) => i),
    );
  });
});

describe('the label in a ServerURL', () => {
  it('has two digits and is read back', () => {
    expect(withCell(SERVER_URL, 7)).toBe(`${SERVER_URL}?c=07`);
    for (let cell = 0; cell < 64; cell += 1) {
      expect(readCell(withCell('/mdm', cell))).toBe(cell);
    }
  });

  it('is absent where the device enrolled without one', () => {
    expect(withCell(SERVER_URL, null)).toBe(SERVER_URL);
  });

  it.each(['/mdm?c=07', '/checkin?c=07', '/mdm/?c=07', '/mdm?a=b&c=07', '/mdm?c=07&a=b'])(
    'is found in %s',
    (url) => expect(readCell(url)).toBe(7),
  );

  it.each([
    ...[
      '/mdm',
      '/mdm?',
      '/mdm?c=',
      '/mdm?c=7',
      '/mdm?c=64',
      '/mdm?c=007',
      '/mdm?c=-1',
      '/mdm?c=0x',
    ],
    '/mdm?cc=07',
    '/mdm?d=c=07',
    '/c=07',
    undefined,
  ])('is not found in %s', (url) => expect(readCell(url)).toBeNull());
});
