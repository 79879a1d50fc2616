import { removeUdid } from '../../../src/db/device-path/device-move.js';
import { mergeDevices, mergeDuplicateRecords } from '../../../src/db/devices/device-merge.js';
import {
  escrowSecrets,
  findCurrentSecret,
  getSecret,
  putSecret,
  removeSecret,
} from '../../../src/db/devices/device-secrets.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';

const KEY = { deviceId: 1, kind: 'unlock_token', fingerprint: Buffer.alloc(32) } as const;
const SEALED = { sealed: Buffer.of(1), digest: Buffer.of(2) };

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

/** The statements that PostgreSQL receives while `work` runs, as it receives them. */
async function statementsOf(work: () => Promise<unknown>): Promise<string[]> {
  const { pool, knex } = database.db;
  const texts: string[] = [];
  const query = pool.query.bind(pool) as (config: { text: string }) => Promise<unknown>;
  const spy = jest.spyOn(pool, 'query').mockImplementation(((config: { text: string }) => {
    texts.push(config.text);
    return query(config);
  }) as never);
  const listener = ({ sql }: { sql: string }) => texts.push(sql);
  knex.on('query', listener);
  await work();
  knex.removeListener('query', listener);
  spy.mockRestore();
  return texts.map((text) => `\n${text.trim()}\n`);
}

const inTransaction = (work: (trx: Parameters<typeof mergeDevices>[0]) => Promise<unknown>) =>
  database.db.knex.transaction(work);

// Built from parts: the snapshot shows each as PostgreSQL receives it.
describe('the expanded statements of devices', () => {
  it('on escrow are those in the snapshot', async () => {
    const { db } = database;
    const texts = await statementsOf(async () => {
      await putSecret(db, { ...KEY, ...SEALED });
      await removeSecret(db, KEY);
      await getSecret(db, KEY);
      await findCurrentSecret(db.knex, KEY);
      await inTransaction((trx) => escrowSecrets(trx, [{ ...KEY, ...SEALED }]));
    });
    expect(texts).toMatchSnapshot();
  });

  it('that merge and move records are those in the snapshot', async () => {
    const reseal = (sealed: Buffer) => sealed;
    const [into, from] = await database.db
      .knex('devices')
      .insert([{ udid: 'A' }, { serial_number: 'C02MT66KFLHH' }])
      .returning<{ id: number }[]>('id');
    const ids = { into: into?.id ?? 0, from: from?.id ?? 0 };
    const move = { id: ids.into, udid: 'A', method: 'profile', isProven: false, fingerprint: '00' };
    const texts = await statementsOf(() =>
      inTransaction(async (trx) => {
        await mergeDuplicateRecords(trx, [ids.into], reseal);
        await mergeDevices(trx, { ...ids, reseal });
        await removeUdid(trx, move);
      }),
    );
    expect(texts).toMatchSnapshot();
  });
});
