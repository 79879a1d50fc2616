import { createHash } from 'node:crypto';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

async function positions(profile: number, devices: number): Promise<number[]> {
  const { rows } = await database.db.knex.raw<{ rows: { position: number }[] }>(
    'select rollout_position(id, ?) as position from generate_series(1, ?::bigint) as id order by id',
    [profile, devices],
  );
  return rows.map(({ position }) => position);
}

function expected(device: number, profile: number): number {
  const key = Buffer.alloc(16);
  key.writeBigInt64BE(BigInt(device), 0);
  key.writeBigInt64BE(BigInt(profile), 8);
  return createHash('sha256').update(key).digest().readUInt32BE(0) % 10_000;
}

describe('the position of a device', () => {
  it('is SHA-256 of the two ids, on every PostgreSQL the same', async () => {
    expect(await positions(7, 4)).toEqual([1, 2, 3, 4].map((device) => expected(device, 7)));
    const { rows } = await database.db.knex.raw<{ rows: { position: number }[] }>(
      'select rollout_position(9007199254740991, 123456789) as position',
    );
    expect(rows[0]?.position).toBe(expected(Number.MAX_SAFE_INTEGER, 123_456_789));
  });

  it('spreads devices evenly: each percent of a stage adds about that share', async () => {
    const all = await positions(3, 100_000);
    for (const percent of [1, 5, 20, 50, 99]) {
      const share = all.filter((position) => position < percent * 100).length / 1_000;
      expect(Math.abs(share - percent)).toBeLessThan(0.5);
    }
    expect([Math.min(...all.slice(0, 50_000)), Math.max(...all.slice(0, 50_000))]).toEqual([
      0, 9_999,
    ]);
  });

  it('differs from item to item', async () => {
    const [one, other] = await Promise.all([positions(1, 10_000), positions(2, 10_000)]);
    const first = new Set(one.flatMap((position, index) => (position < 1_000 ? [index] : [])));
    const both = other.filter((position, index) => position < 1_000 && first.has(index)).length;
    expect(both).toBeGreaterThan(50);
    expect(both).toBeLessThan(160);
  });
});
