import { uploadNodes } from '../api/profile-samples.js';
import { startApp, type TestApp } from '../helpers/app.js';
import { dict, payload, profile } from '../profiles/sample-profiles.js';
import { addProfile, reconcilerOf } from './assignment-fixture.js';

const A_MINUTE = 20;

let app: TestApp;
let reconciler: ReturnType<typeof reconcilerOf>;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  reconciler = reconcilerOf(app, { credentialsPerMinute: A_MINUTE });
});
afterAll(() => app.stop());
afterEach(async () => {
  for (const table of ['devices', 'profiles']) await app.db.knex(table).delete();
  await app.db.knex('reconciler_state').update({ next_credential_at: null });
  await reconciler.run();
});

async function devices(count: number): Promise<void> {
  await app.db.knex.raw(
    `insert into devices (udid, enrollment_state, is_enrolled)
     select gen_random_uuid()::text, 'enrolled', true from generate_series(1, ?::integer)`,
    [count],
  );
}

const SCEP = payload('com.apple.security.scep', {
  PayloadContent: dict({ URL: 'https://scep.example.com', Challenge: 'x' }),
});
const ACME = payload('com.apple.security.acme', {
  DirectoryURL: 'https://acme.example.com/directory',
  ClientIdentifier: 'x',
  KeyType: 'ECSECPrimeRandom',
  KeySize: 384n,
  HardwareBound: true,
  Subject: [[['CN', 'x']]],
});

/** Has everyone get a profile with this payload. */
async function assigned(content: typeof SCEP): Promise<number> {
  const { body } = await uploadNodes(app, profile([content]));
  const profile_id = Number(body.data.id);
  await app.db.knex('assignments').insert({ profile_id, all_devices: true });
  return profile_id;
}

/** Seconds from now after which each waiting command may be sent, the first first; 0: at once. */
async function waits(): Promise<number[]> {
  const { rows } = await app.db.knex.raw<{ rows: { wait: number }[] }>(
    `select coalesce(extract(epoch from after - now()), 0)::float8 as wait from commands
     where request_type = 'InstallProfile' order by 1`,
  );
  return rows.map(({ wait }) => wait);
}

describe('profiles that fetch credentials', () => {
  it('are sent one after another, with a limit for each minute, for all items together', async () => {
    await devices(30);
    await assigned(SCEP);
    await reconciler.run();
    const first = await waits();
    expect(first).toHaveLength(30);
    const inAMinute = first.filter((wait) => wait < 60).length;
    expect(inAMinute).toBeLessThanOrEqual(A_MINUTE + 1);
    expect(inAMinute).toBeGreaterThanOrEqual(A_MINUTE - 1);
    await assigned(ACME);
    await reconciler.run();
    const both = await waits();
    expect(both).toHaveLength(60);
    expect(both.filter((wait) => wait < 90).length).toBeLessThanOrEqual(31);
    expect(both.at(-1)).toBeGreaterThan(59 * 3 - 30);
  });

  it('are not delayed by commands sent long ago, and do not delay others', async () => {
    await app.db.knex('reconciler_state').update({ next_credential_at: new Date(0) });
    await devices(1);
    await assigned(SCEP);
    const { id } = await addProfile(app);
    await app.db.knex('assignments').insert({ profile_id: id, all_devices: true });
    await reconciler.run();
    expect(await waits()).toEqual([0, 0]);
  });
});
