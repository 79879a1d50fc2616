import { CommandQueue } from '../../../src/commands/queue.js';
import { SecretBox } from '../../../src/crypto/secrets/secret-box.js';
import { createTasks } from '../../../src/jobs/tasks/index.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import { capturingLogger } from '../../http/log-lines.js';

const DAY_MS = 86_400_000;
let test: TestDatabase;

beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

function schedules(
  inventoryInterval: number | undefined,
  commandRetention?: number,
  auditRetention?: number,
) {
  const { logger } = capturingLogger();
  const queue = new CommandQueue(new SecretBox(Buffer.alloc(32, 1)));
  const tasks = createTasks({
    db: test.db,
    logger,
    queue,
    config: { changeRetention: undefined, commandRetention, auditRetention, inventoryInterval },
  });
  return Object.fromEntries(tasks.map(({ name, schedule }) => [name, schedule]));
}

describe('the scheduled tasks', () => {
  it('refresh no inventory when INVENTORY_INTERVAL is off', () => {
    expect(schedules(undefined)).toEqual({
      'commands.expire': '* * * * *',
      'records.prune': '17 * * * *',
      'credentials.check': '7 * * * *',
      'push.find_unpushed': '*/5 * * * *',
      'push.check_topics': '*/10 * * * *',
    });
  });

  it('refresh the inventory each minute when there is an interval', () => {
    expect(schedules(DAY_MS)).toHaveProperty(['inventory.refresh'], '* * * * *');
  });

  it('remove old commands each hour unless COMMAND_RETENTION is off', () => {
    expect(schedules(undefined, DAY_MS)).toHaveProperty(['commands.remove_old'], '41 * * * *');
  });

  it('remove old audit events each hour when there is an AUDIT_RETENTION', () => {
    expect(schedules(undefined)).not.toHaveProperty(['audit_events.remove_old']);
    const all = schedules(undefined, undefined, 400 * DAY_MS);
    expect(all).toHaveProperty(['audit_events.remove_old'], '47 * * * *');
  });
});
