import { cancelUnsent } from '../../../src/db/assignments/rollouts.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';

const MANY = 2_500;

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

/** Devices, each with an item whose command waits to be sent. */
async function addItems(): Promise<void> {
  const { knex } = database.db;
  await knex.raw(`insert into devices (udid) select 'u' || g from generate_series(1, ?) g`, [MANY]);
  await knex.raw(`
with command as (
  insert into commands (uuid, device_id, request_type, payload)
  select gen_random_uuid(), id, 'InstallProfile', '' from devices
  returning id, device_id
)
insert into device_items (device_id, item_key, identifier, profile_id, version, enrollment_number,
  state, action, command_id, installed_version)
select device_id, 'profile:a', 'a', 7, 2, 1, 'pending', 'install', id, 1 from command`);
}

describe('the unsent commands of a version', () => {
  it('are cancelled, in batches; those that were sent, of others or locked are not', async () => {
    const { knex } = database.db;
    await addItems();
    const ids = await knex('devices').orderBy('id').pluck('id');
    const [sent, other, repaired, locked] = ids;
    const ofDevice = (device_id: number) => knex('commands').where({ device_id });
    await ofDevice(sent).update({ status: 'Sent', sent_at: new Date() });
    await knex('device_items').where({ device_id: other }).update({ version: 3 });
    await knex('device_items').where({ device_id: repaired }).update({ installed_version: 2 });
    await knex.transaction(async (trx) => {
      await trx('commands').where({ device_id: locked }).forUpdate().first('id');
      await cancelUnsent(database.db, { id: 5, profile_id: 7, version: 2 });
    });
    const pending = await knex('commands').where({ is_pending: true }).orderBy('device_id');
    expect(pending.map(({ device_id }) => device_id)).toEqual([sent, other, repaired, locked]);
    const cancelled = await knex('commands')
      .where({ status: 'Cancelled' })
      .countDistinct('reason as reasons')
      .count('* as n')
      .first();
    expect(cancelled).toEqual({ n: MANY - 4, reasons: 1 });
    expect((await ofDevice(ids[9]).first('reason')).reason).toBe(
      'rollout 5 of version 2 does not go on',
    );
  });
});
