/**
 * Random sequences of changes against a model of a few lines: at rest every device has exactly what is
 * wanted of it, or its item has a reason. RECONCILER_RUNS sets how many sequences are tried.
 */
import fc from 'fast-check';
import { startApp, type TestApp } from '../helpers/app.js';
import {
  addProfile,
  failed,
  listProfiles,
  ManagedDevice,
  reconcilerOf,
} from './assignment-fixture.js';

const RUNS = Number(process.env.RECONCILER_RUNS ?? 12);
const DEVICES = 2;
const PROFILES = 2;
const TAGS = 2;

let app: TestApp;
let reconciler: ReturnType<typeof reconcilerOf>;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  reconciler = reconcilerOf(app);
});
afterAll(() => app.stop());

const index = (count: number) => fc.integer({ min: 0, max: count - 1 });
const mode = fc.constantFrom('include', 'exclude');
interface Step {
  kind: string;
  device?: number;
  profile?: number;
  tag?: number;
  mode?: string;
  isOn?: boolean;
  fails?: boolean;
}

const STEP: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant('assign'), profile: index(PROFILES), tag: index(TAGS), mode }),
  fc.record({ kind: fc.constant('unassign'), profile: index(PROFILES), tag: index(TAGS), mode }),
  fc.record({ kind: fc.constant('everyone'), profile: index(PROFILES), isOn: fc.boolean() }),
  fc.record({ kind: fc.constant('tag'), device: index(DEVICES), tag: index(TAGS) }),
  fc.record({ kind: fc.constant('untag'), device: index(DEVICES), tag: index(TAGS) }),
  fc.record({ kind: fc.constant('version'), profile: index(PROFILES) }),
  fc.record({ kind: fc.constant('reconcile') }),
  fc.record({ kind: fc.constant('poll'), device: index(DEVICES), fails: fc.boolean() }),
  fc.record({ kind: fc.constant('lose'), device: index(DEVICES), profile: index(PROFILES) }),
  fc.record({ kind: fc.constant('enroll'), device: index(DEVICES) }),
);

interface Fixture {
  devices: ManagedDevice[];
  profiles: { id: number; identifier: string; versions: number }[];
  tags: number[];
}

async function createFixture(): Promise<Fixture> {
  const { knex } = app.db;
  for (const table of ['devices', 'profiles', 'tags']) await knex(table).delete();
  await reconciler.run();
  const devices = [];
  for (let one = 0; one < DEVICES; one += 1) devices.push(await ManagedDevice.enroll(app));
  const profiles = [];
  for (let one = 0; one < PROFILES; one += 1) {
    profiles.push({ ...(await addProfile(app)), versions: 1 });
  }
  const names = Array.from({ length: TAGS }, (_, one) => ({ name: `tag ${one} ${Math.random()}` }));
  const tags = (await knex('tags').insert(names, 'id')).map(({ id }) => Number(id));
  return { devices, profiles, tags };
}

async function take(step: Step, { devices, profiles, tags }: Fixture): Promise<void> {
  const { knex } = app.db;
  const device = devices[step.device ?? 0] as ManagedDevice;
  const profile = profiles[step.profile ?? 0] as Fixture['profiles'][number];
  const tag_id = tags[step.tag ?? 0] as number;
  const profile_id = profile.id;
  switch (step.kind) {
    case 'assign':
    case 'unassign': {
      const row = { profile_id, tag_id, mode: step.mode };
      if (step.kind === 'unassign') await knex('assignments').where(row).delete();
      else await knex.raw('? on conflict do nothing', [knex('assignments').insert(row)]);
      return;
    }
    case 'everyone': {
      const row = { profile_id, all_devices: true };
      if (!step.isOn) await knex('assignments').where(row).delete();
      else await knex.raw('? on conflict do nothing', [knex('assignments').insert(row)]);
      return;
    }
    case 'tag':
      await knex('device_tags').insert({ device_id: device.id, tag_id }).onConflict().ignore();
      return;
    case 'untag':
      await knex('device_tags').where({ device_id: device.id, tag_id }).delete();
      return;
    case 'version':
      profile.versions += 1;
      await addProfile(app, { PayloadIdentifier: profile.identifier }, `Net ${profile.versions}`);
      return;
    case 'reconcile':
      return reconciler.run();
    case 'poll': {
      await device.poll(({ RequestType: type }) =>
        step.fails && /^(Install|Remove)Profile$/.test(String(type))
          ? failed('Not today.')
          : undefined,
      );
      return app.waitForReports();
    }
    case 'lose':
      device.profiles.delete(profile.identifier.toLowerCase());
      return;
    case 'enroll':
      device.profiles.clear();
      await device.wire.enroll();
      return;
  }
}

/** Lets everything that is under way come to its end, with devices that obey. */
async function comeToRest({ devices }: Fixture): Promise<void> {
  for (let round = 0; round < 12; round += 1) {
    await app.waitForReports();
    await app.db
      .knex('device_items')
      .whereNotNull('next_attempt_at')
      .update({ next_attempt_at: new Date(0) });
    await app.db.knex('reconcile_marks').insert(devices.map(({ id }) => ({ device_id: id })));
    await reconciler.run();
    const polled = [];
    for (const device of devices) polled.push(...(await device.poll()));
    // A profile that was lost shows in a list only.
    if (round === 4) for (const device of devices) await listProfiles(app, device);
    else if (polled.length === 0 && round > 5) return;
  }
}

/** What the model says that the device should have. */
async function wantedOf(device: ManagedDevice, { profiles }: Fixture): Promise<string[]> {
  const { knex } = app.db;
  const tags: number[] = await knex('device_tags').where({ device_id: device.id }).pluck('tag_id');
  const rows = await knex('assignments').select('profile_id', 'tag_id', 'mode', 'all_devices');
  return profiles
    .filter(({ id }) => {
      const hits = rows.filter(
        (row) => row.profile_id === id && (row.all_devices || tags.includes(row.tag_id)),
      );
      const has = (wanted: string) => hits.some((row) => row.mode === wanted);
      return has('include') && !has('exclude');
    })
    .map(({ identifier, versions }) => `${identifier} ${versions}`);
}

async function checkDevice(device: ManagedDevice, fixture: Fixture): Promise<void> {
  const items = await app.db
    .knex('device_items')
    .where({ device_id: device.id })
    .select('identifier', 'version', 'state', 'reason_code', 'payload_uuid');
  const failures = items.filter(({ state }) => state !== 'verified');
  for (const { state, reason_code: code } of failures) {
    expect([state, code]).toEqual(['failed', expect.any(String)]);
  }
  const verified = items.filter(({ state }) => state === 'verified');
  const wanted = await wantedOf(device, fixture);
  const known: string[] = items.map(({ identifier, version }) => `${identifier} ${version}`);
  const stuck = failures.filter(({ reason_code: code }) => code === 'not_removed');
  const unremoved = stuck.map(({ identifier, version }) => `${identifier} ${version}`);
  const left = known.filter((one) => !unremoved.includes(one));
  expect(new Set(left)).toEqual(new Set(wanted));
  expect(left).toHaveLength(wanted.length);
  for (const { identifier, payload_uuid } of verified) {
    const installed = device.profiles.get(identifier.toLowerCase());
    expect(installed?.PayloadUUID).toBe(payload_uuid);
  }
  const others = [...device.profiles.keys()].filter(
    (identifier) => !items.some((item) => item.identifier.toLowerCase() === identifier),
  );
  expect(others).toEqual([]);
}

it('every device ends up with exactly its assigned profiles, whatever happened', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(STEP, { minLength: 4, maxLength: 24 }), async (steps) => {
      const fixture = await createFixture();
      for (const step of steps) await take(step, fixture);
      await comeToRest(fixture);
      for (const device of fixture.devices) await checkDevice(device, fixture);
    }),
    { numRuns: RUNS },
  );
}, 120_000);
