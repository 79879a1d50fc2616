import { enrollStorm } from '../../bench/soak/storm/enroll-storm.js';
import { createTestDatabase } from '../helpers/database.js';

const DEVICES = 30;

describe('devices that enroll all at once', () => {
  it('end enrolled, none twice, and the server says throughout that it is well', async () => {
    const database = await createTestDatabase();
    const { broken, figures } = await enrollStorm({
      databaseUrl: database.connectionString,
      devices: DEVICES,
      keys: 6,
      ways: ['profile', 'ota', 'ade'],
    });
    await database.drop();
    expect(broken).toEqual([]);
    expect(figures.retries).toBe(0);
    expect(figures.healthChecks).toBeGreaterThan(1);
  }, 120_000);
});
