import { heldConnections } from '../../bench/soak/held/held-connections.js';
import { createTestDatabase } from '../helpers/database.js';

const CONNECTIONS = 60;

describe('8 MiB bodies held at their last byte, with a signature that any device has shown', () => {
  it('take no memory to speak of, are ended, and no honest device is refused', async () => {
    const database = await createTestDatabase();
    const results = await heldConnections({
      databaseUrl: database.connectionString,
      connections: CONNECTIONS,
      seconds: 1.5,
      // Other tests run beside this one; `npm run soak` measures time.
      kinds: ['copied'],
      mostSlowdown: Number.POSITIVE_INFINITY,
    });
    await database.drop();
    expect(results.flatMap(({ broken }) => broken)).toEqual([]);
    expect(results[0]?.figures.answered503).toBeGreaterThan(CONNECTIONS / 2);
  }, 120_000);
});
