import { recoveredCommand } from '../../src/cli/backup/restore.js';
import { createLogger } from '../../src/logger.js';
import { createEmptyDatabase, type TestDatabase } from '../helpers/database.js';
import { removeTemporaryDirectories } from '../helpers/temporary-directory.js';
import { type FilledServer, startFilledServer } from '../pki/master-key/filled-server.js';
import { backUp, restore } from './backup-files.js';

let filled: FilledServer;
let file: string;
let target: TestDatabase;

/** Two jobs at Apple that an admin has asked for, and one that only reads. */
const APPLE = `
with account as (insert into dep_accounts (status) values ('ok') returning id)
insert into dep_devices (dep_account_id, serial_number, listed_at, disown_result, activation_lock_result)
select id, serial_number, now(), disown_result, lock_result from account, (values
  ('C02DISOWN', 'requested', null), ('C02SENT', 'sent', null), ('C02LOCK', null, 'requested')
) as wanted (serial_number, disown_result, lock_result)`;

beforeAll(async () => {
  filled = await startFilledServer();
  await filled.app.halt();
  const { pool } = filled.app.db;
  await pool.query(APPLE);
  for (const task of ['dep.disown', 'dep.activation_lock', 'dep.sync']) {
    await pool.query("select graphile_worker.add_job($1, '{}')", [task]);
  }
  file = await backUp(filled.app.db);
});
beforeEach(async () => {
  target = await createEmptyDatabase();
});
afterEach(() => target.drop());
afterAll(async () => {
  await filled?.app.database.drop();
  removeTemporaryDirectories();
});

async function statesOf({ db }: Pick<TestDatabase, 'db'>) {
  const read = async (text: string) =>
    (await db.pool.query<{ x: string }>(text)).rows.map((r) => r.x);
  return {
    commands: await read(
      `select concat_ws(' ', request_type, status, reason) as x from commands
       where is_pending or reason = 'restored' order by 1`,
    ),
    batches: await read("select request_type || ' ' || state as x from command_batches order by 1"),
    apple: await read(
      `select concat_ws(' ', serial_number, disown_result, activation_lock_result, last_error) as x
       from dep_devices order by 1`,
    ),
    jobs: await read("select task as x from jobs where task like 'dep.%' order by 1"),
  };
}

describe('a restored server', () => {
  it('repeats nothing that erases, locks or removes, and continues everything else', async () => {
    const before = await statesOf(filled.app);
    expect(before.commands.filter((one) => one.startsWith('EraseDevice'))).toHaveLength(1);
    const { stopped } = await restore(target.db, file, { keepsQueue: false });
    const after = await statesOf(target);
    expect(after.commands).toEqual(
      before.commands
        .map((one) => one.replace(/^(EraseDevice|ClearPasscode) \w+/, '$1 Cancelled restored'))
        .sort(),
    );
    expect(after.commands).toContain('EraseDevice Cancelled restored');
    expect(after.commands.some((one) => one.startsWith('InstallProfile '))).toBe(true);
    expect(after.batches).toEqual(['EraseDevice cancelled']);
    expect(after.apple).toEqual([
      'C02DISOWN disown: cancelled when the server was restored from a backup',
      'C02LOCK activation lock: cancelled when the server was restored from a backup',
      'C02SENT no_answer disown: cancelled when the server was restored from a backup',
    ]);
    const dangerous = ['dep.activation_lock', 'dep.disown'];
    expect(before.jobs).toEqual(expect.arrayContaining(dangerous));
    expect(after.jobs).toEqual(before.jobs.filter((task) => !dangerous.includes(task)));
    expect(after.jobs).toContain('dep.sync');
    const cancelled = after.commands.filter((one) => one.endsWith('Cancelled restored'));
    expect(stopped).toEqual({ commands: cancelled.length, batches: 1, jobs: 2 });
  });

  it('repeats all of it with --keep-queue', async () => {
    const { stopped } = await restore(target.db, file, { keepsQueue: true });
    expect(stopped).toBeUndefined();
    expect(await statesOf(target)).toEqual(await statesOf(filled.app));
  });
});

describe('a database that PostgreSQL brought back', () => {
  it('repeats as little after `muster recovered`, which says what it stopped', async () => {
    await restore(target.db, file, { keepsQueue: false });
    const expected = await statesOf(target);
    const recovered = await createEmptyDatabase();
    try {
      await restore(recovered.db, file, { keepsQueue: true });
      const lines: string[] = [];
      const io = { db: recovered.db, logger: createLogger('silent') };
      await recoveredCommand(io, (line) => lines.push(line));
      expect(await statesOf(recovered)).toEqual(expected);
      const count = expected.commands.filter((one) => one.endsWith('Cancelled restored')).length;
      expect(lines).toEqual([
        `Not done any more, since devices may have changed meanwhile: ${count} pending destructive commands, 1 batches of such, 2 jobs that disown or lock at Apple.`,
        'Everybody is signed out of the console. Start the server.',
      ]);
      const audited = await recovered.db
        .knex('audit_events')
        .where({ action: 'backups.recovered' });
      expect(audited).toMatchObject([{ details: { commands: count, batches: 1, jobs: 2 } }]);
      await recoveredCommand(io, (line) => lines.push(line));
      expect(lines[2]).toBe('There was nothing to stop.');
    } finally {
      await recovered.drop();
    }
  });
});
