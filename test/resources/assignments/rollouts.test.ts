import { createToken } from '../../../src/auth/api-tokens.js';
import { addProfile, addTag } from '../../assignments/assignment-fixture.js';
import {
  rolloutDocument,
  startRollout,
  uploadVersion,
} from '../../assignments/rollouts/rollout-fixture.js';
import { adminApi, startApp, type TestApp } from '../../helpers/app.js';

const CONTEXT = {
  requestId: 'r',
  actor: { name: 'a', role: 'admin' as const },
  sourceAddress: null,
};

let app: TestApp;
let api: ReturnType<typeof adminApi>;
let profileId: number;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  api = adminApi(app);
});
afterAll(() => app.stop());
beforeEach(async () => {
  await app.db.knex('profiles').delete();
  const { id, identifier } = await addProfile(app);
  profileId = id;
  await uploadVersion(app, { identifier, ssid: 'Guests', query: '?activate=false' });
});

describe('a rollout is refused', () => {
  it('without an item, and with every fault of its stages', async () => {
    const none = await api.post('/rollouts', rolloutDocument(undefined));
    expect([none.status, none.body.errors[0].source]).toEqual([
      422,
      { pointer: '/data/relationships/item' },
    ]);
    const stages = [
      { percent: 10.001, soak_minutes: -1 },
      { percent: 101, soak_minutes: 1, name: 'x' },
    ];
    const { status, body } = await api.post('/rollouts', rolloutDocument(profileId, { stages }));
    expect(status).toBe(422);
    expect(
      body.errors.map(({ source }: { source: { pointer: string } }) => source.pointer).sort(),
    ).toEqual([
      '/data/attributes/stages/0/percent',
      '/data/attributes/stages/0/soak_minutes',
      '/data/attributes/stages/1',
      '/data/attributes/stages/1/percent',
    ]);
  });

  it.each([
    [
      [
        { percent: 50, soak_minutes: 1 },
        { percent: 50, soak_minutes: 1 },
      ],
      ['stages.1.percent must be more than the 50 of the stage before it'],
    ],
    [
      [
        { percent: 50, soak_minutes: 1 },
        { percent: 40, soak_minutes: 1 },
        { percent: 99.99, soak_minutes: 1 },
      ],
      [
        'stages.1.percent must be more than the 50 of the stage before it',
        'stages.2.percent must be 100 in the last stage, so that every device gets the version',
      ],
    ],
    [
      [
        { percent: 0, soak_minutes: 1 },
        { percent: 100, soak_minutes: 1 },
      ],
      ['stages.0.percent must be more than 0, unless first_tag names the devices of the stage'],
    ],
    [[], ['stages must have at least 1 element']],
    [
      Array.from({ length: 21 }, (_, index) => ({ percent: index + 80, soak_minutes: 0 })),
      expect.arrayContaining(['stages must have at most 20 elements']),
    ],
  ])('with the stages %j', async (stages, details) => {
    const { status, body } = await api.post('/rollouts', rolloutDocument(profileId, { stages }));
    expect(status).toBe(422);
    expect(body.errors.map(({ detail }: { detail: string }) => detail)).toEqual(details);
  });

  it('with limits that never halt it, or of another form', async () => {
    for (const halt_at of [
      { failures: null, percent: null },
      { failures: 0 },
      { share: 1 },
      null,
    ]) {
      const document = rolloutDocument(profileId, { halt_at });
      const { status, body } = await api.post('/rollouts', document);
      expect([halt_at, status]).toEqual([halt_at, 422]);
      expect(body.errors[0].source.pointer).toMatch(/^\/data\/attributes\/halt_at/);
    }
  });

  it('with a version that is missing, or is the current one', async () => {
    const missing = await api.post('/rollouts', rolloutDocument(profileId, { version: 3 }));
    expect([missing.status, missing.body.errors[0].detail]).toEqual([
      422,
      `profile ${profileId} has no version 3: its versions are 1 to 2; upload it first`,
    ]);
    const inForce = await api.post('/rollouts', rolloutDocument(profileId, { version: 1 }));
    expect([inForce.status, inForce.body.errors[0].detail]).toEqual([
      409,
      `version 1 of profile ${profileId} is in force: devices get it already. Upload the new ` +
        'version with ?activate=false, then roll it out',
    ]);
    expect(await app.db.knex('rollouts').select('id')).toEqual([]);
  });

  it('while another of the item is open, which is named', async () => {
    const id = await startRollout(api, profileId);
    const again = await api.post('/rollouts', rolloutDocument(profileId));
    expect([again.status, again.body.errors[0].detail]).toEqual([
      409,
      `rollout ${id} of profile ${profileId} is running: let it finish, or roll it back ` +
        `(POST /api/v1/rollouts/${id}/rollback)`,
    ]);
    await api.post(`/rollouts/${id}/halt`);
    const halted = await api.post('/rollouts', rolloutDocument(profileId));
    expect([halted.status, halted.body.errors[0].detail]).toEqual([
      409,
      `rollout ${id} of profile ${profileId} is halted: resume it or roll it back ` +
        `(POST /api/v1/rollouts/${id}/rollback)`,
    ]);
    const two = [rolloutDocument(profileId), rolloutDocument(profileId)];
    await api.post(`/rollouts/${id}/rollback`);
    const answers = await Promise.all(two.map((document) => api.post('/rollouts', document)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409]);
  });

  it('to a viewer, who reads it', async () => {
    const id = await startRollout(api, profileId);
    const as = { name: 'viewer', role: 'viewer' } as const;
    const { token } = await createToken(app.db, as, CONTEXT);
    const viewer = adminApi(app, token);
    const document = rolloutDocument(profileId);
    const refused = [
      await viewer.post('/rollouts', document),
      await viewer.post(`/rollouts/${id}/halt`),
      await viewer.post(`/rollouts/${id}/rollback`),
      await viewer.delete(`/rollouts/${id}`),
    ];
    expect(refused.map(({ status }) => status)).toEqual([403, 403, 403, 403]);
    expect((await viewer.get(`/rollouts/${id}`)).status).toBe(200);
  });
});

describe('a rollout', () => {
  it('is shown with its item, its limits and where it is', async () => {
    const tag = await addTag(app);
    const firstTag = tag;
    const stages = [
      { percent: 0, soak_minutes: 5 },
      { percent: 12.25, soak_minutes: 60 },
      { percent: 100, soak_minutes: 0 },
    ];
    const halt_at = { failures: null };
    const document = rolloutDocument(profileId, { stages, halt_at, firstTag });
    const { status, body } = await api.post('/rollouts', document);
    expect(status).toBe(201);
    const { stage_started_at, created_at, ...rest } = body.data.attributes;
    expect([typeof stage_started_at, typeof created_at]).toEqual(['string', 'string']);
    expect(rest).toEqual({
      ...{ version: 2, former_version: 1, stages, halt_at: { failures: null, percent: 10 } },
      ...{ state: 'running', reason: null, stage: 1, devices: 0, verified: 0, failed: 0 },
      ended_at: null,
    });
    const { item, profile, first_tag } = body.data.relationships;
    expect([item.data, profile.data, first_tag.data]).toEqual([
      { type: 'profiles', id: profileId },
      { type: 'profiles', id: profileId },
      { type: 'tags', id: tag },
    ]);
    const [row] = await app.db.knex('rollouts').select('threshold', 'first_tag_id');
    expect(row).toEqual({ threshold: 0, first_tag_id: tag });
    const event = await app.db.knex('audit_events').orderBy('id', 'desc').first();
    expect([event.action, event.target_id]).toEqual(['rollouts.create', String(body.data.id)]);
    expect((await api.get(`/profiles/${profileId}/rollouts`)).body.meta.total).toBe(1);
  });

  it('is started below its profile, too', async () => {
    const document = rolloutDocument(undefined);
    const { status, body } = await api.post(`/profiles/${profileId}/rollouts`, document);
    expect([status, body.data?.relationships.item.data]).toEqual([
      201,
      { type: 'profiles', id: profileId },
    ]);
  });

  it('changes its limits by PATCH, and nothing else', async () => {
    const id = await startRollout(api, profileId);
    const patch = (attributes: object) =>
      api.patch(`/rollouts/${id}`, { data: { type: 'rollouts', id, attributes } });
    const { body } = await patch({ halt_at: { failures: 3, percent: null }, stage: 2, version: 9 });
    expect(body.data.attributes).toMatchObject({
      halt_at: { failures: 3, percent: null },
      stage: 1,
      version: 2,
    });
    expect((await patch({ halt_at: { percent: 0 } })).status).toBe(422);
  });

  it('that is open is not deleted; one that has ended is', async () => {
    const id = await startRollout(api, profileId);
    const path = `/rollouts/${id}`;
    const running = await api.delete(path);
    expect([running.status, running.body.errors[0].code, running.body.errors[0].detail]).toEqual([
      409,
      'in_use',
      `rollout ${id} is running: roll it back first, or let it finish`,
    ]);
    await api.post(`${path}/rollback`);
    expect((await api.delete(path)).status).toBe(204);
    expect((await api.get(path)).status).toBe(404);
  });

  it('refuses actions that its state does not allow, naming the next one', async () => {
    const id = await startRollout(api, profileId);
    const step = async (verb: string) => {
      const { status, body } = await api.post(`/rollouts/${id}/${verb}`);
      return status === 200 ? body.data.attributes.state : [status, body.errors[0].detail];
    };
    expect(await step('resume')).toEqual([
      409,
      `rollout ${id} can't be resumed, since it is running: halt it first, or let it go on`,
    ]);
    expect(await step('halt')).toBe('halted');
    expect(await step('halt')).toEqual([
      409,
      `rollout ${id} can't be halted, since it is halted already: resume it or roll it back`,
    ]);
    expect(await step('resume')).toBe('running');
    expect(await step('rollback')).toBe('rolled_back');
    for (const [verb, done] of [
      ['halt', 'halted'],
      ['resume', 'resumed'],
      ['rollback', 'rolled back'],
    ] as const) {
      expect(await step(verb)).toEqual([
        409,
        `rollout ${id} can't be ${done}, since it was rolled back: start a new rollout of version 2`,
      ]);
    }
    await app.db.knex('rollouts').update({ state: 'finished' });
    expect(await step('rollback')).toEqual([
      409,
      `rollout ${id} can't be rolled back, since it has finished: start a rollout of version 1 to go back`,
    ]);
    expect((await api.post('/rollouts/987654/halt')).status).toBe(404);
    const events = await app.db.knex('audit_events').orderBy('id', 'desc').limit(3);
    expect(events.map(({ action }) => action)).toEqual([
      ...['rollouts.rollback', 'rollouts.resume', 'rollouts.halt'],
    ]);
  });
});
