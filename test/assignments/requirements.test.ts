import { adminApi, startApp, type TestApp } from '../helpers/app.js';
import { addProfile, addTag, itemsOf, ManagedDevice, reconcilerOf } from './assignment-fixture.js';

let app: TestApp;
let api: ReturnType<typeof adminApi>;
let reconciler: ReturnType<typeof reconcilerOf>;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  api = adminApi(app);
  reconciler = reconcilerOf(app);
});
afterAll(() => app.stop());
afterEach(async () => {
  for (const table of ['devices', 'profiles', 'tags']) await app.db.knex(table).delete();
  await reconciler.run();
});

const to = (type: string, id: number) => ({ type, id });

interface Draft {
  item: number;
  tag: number;
  requires?: number[];
  mode?: string;
}

async function assign({ item, tag, requires = [], mode = 'include' }: Draft) {
  const { status, body } = await api.post('/assignments', {
    data: {
      type: 'assignments',
      attributes: { mode },
      relationships: {
        item: { data: to('profiles', item) },
        target: { data: to('tags', tag) },
        requires: { data: requires.map((id) => to('profiles', id)) },
      },
    },
  });
  return { status, body, id: Number(body.data?.id) };
}

async function reconcile(): Promise<void> {
  await app.waitForReports();
  await reconciler.run();
}

/** A device with two profiles to come, of which the second waits for the first. */
async function fixture() {
  const device = await ManagedDevice.enroll(app);
  await device.poll();
  await reconcile();
  device.carriedOut.length = 0;
  const first = await addProfile(app);
  const second = await addProfile(app);
  const tag = await addTag(app, device);
  return { device, first, second, tag };
}

describe('an item that requires another one', () => {
  it('waits until the other one is verified, and is then installed', async () => {
    const { device, first, second, tag } = await fixture();
    await assign({ item: first.id, tag });
    await assign({ item: second.id, tag, requires: [first.id] });
    await reconcile();
    const reasonOf = () =>
      app.db.knex('device_items').where({ profile_id: second.id }).first('reason');
    expect(await itemsOf(app, device)).toEqual([
      { profile_id: first.id, state: 'pending', reason_code: null, version: 1 },
      { profile_id: second.id, state: 'pending', reason_code: 'waiting_for_item', version: 1 },
    ]);
    expect(await reasonOf()).toEqual({
      reason: `waits until it is verified: profile ${first.id} (${first.identifier}), which is pending`,
    });
    expect(await device.poll()).toEqual(['InstallProfile']);
    await reconcile();
    expect(await itemsOf(app, device)).toMatchObject([
      { state: 'installed' },
      { reason_code: 'waiting_for_item' },
    ]);
    expect((await reasonOf()).reason).toMatch(/, which is installed$/);
    expect(await device.poll()).toEqual(['ProfileList']);
    await reconcile();
    expect(await device.poll()).toEqual(['InstallProfile']);
    await reconcile();
    await device.poll();
    await reconcile();
    expect(await itemsOf(app, device)).toMatchObject([
      { state: 'verified' },
      { state: 'verified', reason_code: null },
    ]);
    expect(await app.db.knex('reconcile_marks')).toEqual([]);
  });

  it('reports one that is not assigned to the device, and is installed once it is no longer required', async () => {
    const { device, first, second, tag } = await fixture();
    const { id } = await assign({ item: second.id, tag, requires: [first.id] });
    await reconcile();
    expect(await app.db.knex('device_items').select('state', 'reason')).toEqual([
      {
        state: 'pending',
        reason:
          `waits until it is verified: profile ${first.id} (${first.identifier}), ` +
          'which is not assigned to the device',
      },
    ]);
    expect(await device.poll()).toEqual([]);
    const waived = await api.patch(`/assignments/${id}/relationships/requires`, { data: [] });
    expect(waived.status).toBe(200);
    expect(await app.db.knex('audit_events').orderBy('id', 'desc').first('details')).toEqual({
      details: { changes: { requires: { added: [], removed: [first.id] } } },
    });
    await reconcile();
    expect(await device.poll()).toEqual(['InstallProfile']);
  });

  it('is installed when the profile that it requires is deleted', async () => {
    const { device, first, second, tag } = await fixture();
    await assign({ item: second.id, tag, requires: [first.id] });
    await reconcile();
    expect((await api.delete(`/profiles/${first.id}`)).status).toBe(204);
    await reconcile();
    expect(await device.poll()).toEqual(['InstallProfile']);
  });

  it('stays installed while the other one is installed anew', async () => {
    const { device, first, second, tag } = await fixture();
    await assign({ item: first.id, tag });
    await assign({ item: second.id, tag, requires: [first.id] });
    for (let round = 0; round < 4; round += 1) {
      await reconcile();
      await device.poll();
    }
    await reconcile();
    await addProfile(app, { PayloadIdentifier: first.identifier }, 'Elsewhere');
    await reconcile();
    expect(await itemsOf(app, device)).toMatchObject([
      { state: 'pending', version: 2 },
      { state: 'verified', version: 1 },
    ]);
  });
});

describe('a requirement', () => {
  it('is shown on the assignment, and is of the item whatever the target', async () => {
    const { first, second, tag } = await fixture();
    const { status, id } = await assign({ item: second.id, tag, requires: [first.id] });
    expect(status).toBe(201);
    const { body } = await api.get(`/assignments/${id}?include=requires`);
    expect(body.data.relationships.requires.data).toEqual([to('profiles', first.id)]);
    expect(body.included).toMatchObject([{ type: 'profiles', id: first.id }]);
  });

  it('is refused when it leads back to the item, at once or through others', async () => {
    const { first, second, tag } = await fixture();
    const third = await addProfile(app);
    const itself = await assign({ item: first.id, tag, requires: [first.id] });
    expect([itself.status, itself.body.errors]).toMatchObject([
      422,
      [
        {
          detail:
            `profile ${first.id} (${first.identifier}) is the assigned item itself, or waits for ` +
            'it: leave it out',
          source: { pointer: '/data/relationships/requires/data' },
        },
      ],
    ]);
    await assign({ item: second.id, tag, requires: [first.id] });
    await assign({ item: third.id, tag, requires: [second.id] });
    const { status, body } = await assign({ item: first.id, tag, requires: [third.id] });
    expect([status, body.errors]).toMatchObject([
      422,
      [{ detail: expect.stringContaining(`profile ${third.id} (`) }],
    ]);
    const { id } = await assign({ item: first.id, tag });
    const later = await api.post(`/assignments/${id}/relationships/requires`, {
      data: [to('profiles', second.id)],
    });
    expect([later.status, later.body.errors]).toMatchObject([
      422,
      [{ source: { pointer: '/data' } }],
    ]);
    expect(await app.db.knex('assignment_requirements').count()).toEqual([{ count: 2 }]);
  });

  it('is refused when two requests at the same time close a circle', async () => {
    const { first, second, tag } = await fixture();
    const ids = [
      (await assign({ item: first.id, tag })).id,
      (await assign({ item: second.id, tag })).id,
    ];
    const [one, other] = await Promise.all(
      [second.id, first.id].map((required, n) =>
        api.post(`/assignments/${ids[n]}/relationships/requires`, {
          data: [to('profiles', required)],
        }),
      ),
    );
    expect([one?.status, other?.status].sort()).toEqual([200, 422]);
  });

  it('is refused on an exclude, and for a profile that does not exist', async () => {
    const { first, second, tag } = await fixture();
    const exclude = await assign({ item: second.id, tag, requires: [first.id], mode: 'exclude' });
    expect([exclude.status, exclude.body.errors]).toMatchObject([
      422,
      [
        {
          detail: 'an assignment that excludes installs nothing, so it has nothing to wait for',
          source: { pointer: '/data/relationships/requires/data' },
        },
      ],
    ]);
    const unknown = await assign({ item: second.id, tag, requires: [2_000_000_000] });
    expect(unknown.status).toBe(404);
    expect(await app.db.knex('assignments')).toEqual([]);
  });
});
