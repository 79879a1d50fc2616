import { randomUUID } from 'node:crypto';
import { down, up } from '../../../migrations/20261123110000_shared_payloads.js';
import { storablePayload } from '../../../src/commands/payload.js';
import { SecretBox } from '../../../src/crypto/secrets/secret-box.js';
import { inTransaction } from '../../../src/db/connection/unit-of-work.js';
import { insertCommands } from '../../../src/db/devices/command-repository.js';
import { buildPlist } from '../../../src/protocol/plist/plist.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const requestType = 'InstalledApplicationList';
const parameters = {
  Identifiers: Array.from({ length: 60 }, (_, index) => `com.example.${index}`),
};

function command(deviceId: number) {
  const uuid = randomUUID();
  const box = new SecretBox(Buffer.alloc(32, 1));
  const content = { uuid, requestType, parameters };
  const stored = storablePayload(box, content, { mayShare: true });
  return { uuid, device_id: deviceId, request_type: requestType, ...stored };
}

describe('the reverted migration of shared payloads', () => {
  it('leaves each command the exact plist that it sends, and can be applied again', async () => {
    const { knex } = database.db;
    const [{ id }] = await knex('devices').insert({}).returning('id');
    const commands = [command(id), command(id)];
    await inTransaction(database.db, (trx) => insertCommands(trx, commands));
    expect(await knex('command_payloads').pluck('size')).toHaveLength(1);
    await knex.transaction((trx) => down(trx));
    const plists = commands.map(({ uuid: CommandUUID }) => {
      return buildPlist({ Command: { ...parameters, RequestType: requestType }, CommandUUID });
    });
    expect(await knex('commands').orderBy('id').pluck('payload')).toEqual(plists);
    await knex.transaction((trx) => up(trx));
    const rows = await knex('commands').orderBy('id').select(knex.raw('commands.plist'));
    expect(rows).toEqual(plists.map((plist) => ({ plist })));
  });
});
