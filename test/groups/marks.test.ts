import { ruleColumns } from '../../src/groups/rule-fields.js';
import type { ResourceDefinition } from '../../src/jsonapi/definition/definition.js';
import { devices } from '../../src/resources/devices/devices.js';
import { createTestDatabase, type TestDatabase } from '../helpers/database.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const VALUES: Record<string, [string, string]> = {
  text: [`'a'`, `'b'`],
  boolean: ['true', 'false'],
  integer: ['1', '2'],
  smallint: ['1', '2'],
  bigint: ['1', '2'],
  'double precision': ['1.5', '2.5'],
  'timestamp with time zone': [`'2026-01-01'`, `'2026-01-02'`],
};
/** Their values are of a list, or refer to other rows. */
const OWN_VALUES: Record<string, [string, string]> = {
  platform: [`'iOS'`, `'macOS'`],
  enrollment_state: [`'enrolled'`, `'unenrolled'`],
  enrollment_type: [`'device'`, `'user'`],
  enrollment_method: [`'ota'`, `'profile'`],
  push_state: [`'ok'`, `'unregistered'`],
  health: [`'ok'`, `'stuck'`],
};
const LINKS: Record<string, string> = {
  dep_profile_id: 'dep_profiles',
  enrollment_link_id: 'enrollment_links',
};

describe('the trigger of devices', () => {
  it('marks a change of each column that a rule may name, and of no other', async () => {
    const { knex } = database.db;
    const columns = ruleColumns(devices as unknown as ResourceDefinition);
    expect(columns).toEqual(expect.arrayContaining(['os_version', 'dep_profile_id', 'is_dep']));
    expect(columns).not.toContain('battery_level');
    await knex('smart_group_state').update({ facts: [...columns, 'last_seen'] });
    const [{ id }] = await knex('devices').insert({}).returning('id');
    await knex('smart_group_marks').delete();
    const types: { column_name: string; data_type: string }[] = await knex(
      'information_schema.columns',
    )
      .where({ table_schema: 'public', table_name: 'devices' })
      .whereNotIn('column_name', ['id', 'sealed_push', 'last_seen', ...Object.keys(LINKS)])
      .select('column_name', 'data_type');
    const marked: string[] = [];
    for (const { column_name: name, data_type: type } of types) {
      if (type === 'jsonb' || type === 'bytea') continue;
      for (const value of OWN_VALUES[name] ?? VALUES[type] ?? []) {
        await knex.raw(`update devices set ${name} = ${value} where id = ?`, [id]);
      }
      const marks = await knex('smart_group_marks').delete().returning(['device_id', 'facts']);
      if (marks.length === 0) continue;
      expect([name, marks]).toEqual([name, marks.map(() => ({ device_id: id, facts: [name] }))]);
      if (name !== 'applications_listed') marked.push(name);
    }
    const named = columns.filter((name) => !(name in LINKS));
    expect(new Set(marked)).toEqual(new Set(named));
  });

  it('marks changes of the links that a rule may name', async () => {
    const { knex } = database.db;
    const [account] = await knex('dep_accounts').insert({}).returning('id');
    const [profile] = await knex('dep_profiles')
      .insert({ profile_name: 'p', url: 'https://mdm.example.com', dep_account_id: account.id })
      .returning('id');
    const link = { name: 'l', token_hash: Buffer.alloc(32), sealed_token: Buffer.alloc(1) };
    const [made] = await knex('enrollment_links').insert(link).returning('id');
    const [{ id }] = await knex('devices').insert({}).returning('id');
    await knex('smart_group_marks').delete();
    const links = { dep_profile_id: profile.id, enrollment_link_id: made.id };
    await knex('devices').where({ id }).update(links);
    expect(await knex('smart_group_marks').select('device_id', 'facts')).toEqual([
      { device_id: id, facts: Object.keys(LINKS) },
    ]);
  });
});
