import { newCommandUuid } from '../../src/commands/command-uuid.js';
import { createTestDatabase, type TestDatabase } from '../helpers/database.js';

const VERSION_7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

async function fromDatabase(count: number): Promise<string[]> {
  const text = 'select ordered_uuid() as uuid from generate_series(1, $1::int)';
  const { rows } = await test.db.pool.query<{ uuid: string }>(text, [count]);
  return rows.map(({ uuid }) => uuid);
}

function milliseconds(uuid: string): number {
  return Number.parseInt(uuid.slice(0, 13).replace('-', ''), 16);
}

describe('a new CommandUUID', () => {
  const ways: [string, (count: number) => Promise<string[]>][] = [
    ['of the program', async (count) => Array.from({ length: count }, newCommandUuid)],
    ['of the database', fromDatabase],
  ];

  it.each(ways)('%s is of version 7, begins with its time and is used once', async (_, create) => {
    const before = Date.now();
    const uuids = await create(5_000);
    const after = Date.now();
    expect(uuids.filter((uuid) => !VERSION_7.test(uuid))).toEqual([]);
    expect(new Set(uuids).size).toBe(5_000);
    const times = uuids.map(milliseconds);
    // PostgreSQL rounds to the nearest millisecond.
    expect(Math.min(...times)).toBeGreaterThanOrEqual(before - 1);
    expect(Math.max(...times)).toBeLessThanOrEqual(after + 1);
    // All bits but those of time, version and variant differ between values.
    const bytes = uuids.map((uuid) => Buffer.from(uuid.replaceAll('-', ''), 'hex'));
    const masks = [0x0f, 0xff, 0x3f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
    for (const [index, mask] of masks.entries()) {
      const seen = bytes.map((value) => value.readUInt8(6 + index) & mask);
      expect(seen.reduce((all, value) => all | value, 0)).toBe(mask);
      expect(seen.reduce((all, value) => all & value, mask)).toBe(0);
    }
  });
});
