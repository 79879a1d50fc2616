import { ReadingBudget } from '../../src/mdm/reading-budget.js';

const MB = 1024 * 1024;
const MINUTE = 60_000;
const DEVICE = Buffer.alloc(32, 1);
const OTHER = Buffer.alloc(32, 2);

let now: number;
let budget: ReadingBudget;

beforeEach(() => {
  now = 0;
  budget = new ReadingBudget(() => now);
});

describe('the budget of an identity', () => {
  it('holds eight messages of 8 MB and no ninth', () => {
    for (let sent = 0; sent < 8; sent++) {
      expect(budget.allows(DEVICE, 8 * MB)).toBe(true);
      budget.spend(DEVICE, { bytes: 8 * MB });
    }
    expect(budget.allows(DEVICE, 8 * MB)).toBe(false);
    expect(budget.allows(OTHER, 8 * MB)).toBe(true);
  });

  it('holds ten seconds of reading', () => {
    budget.spend(DEVICE, { ms: 10_001 });
    expect(budget.allows(DEVICE, 1)).toBe(false);
    now += MINUTE;
    expect(budget.allows(DEVICE, 1)).toBe(true);
  });

  it('refills by 16 MB a minute, up to 64 MB', () => {
    budget.spend(DEVICE, { bytes: 64 * MB });
    now += MINUTE;
    expect(budget.allows(DEVICE, 16 * MB)).toBe(true);
    expect(budget.allows(DEVICE, 17 * MB)).toBe(false);
    now += 100 * MINUTE;
    expect(budget.allows(DEVICE, 64 * MB)).toBe(true);
    expect(budget.allows(DEVICE, 65 * MB)).toBe(false);
  });

  it('is not met by a Mac that sends six lists of 2 MB in a row, five times an hour', () => {
    for (let time = 0; time < 5; time++) {
      for (let list = 0; list < 6; list++) {
        expect(budget.allows(DEVICE, 2 * MB)).toBe(true);
        // A small computer reads 4 MB a second.
        budget.spend(DEVICE, { bytes: 2 * MB, ms: 500 });
      }
      now += 12 * MINUTE;
    }
  });
});
