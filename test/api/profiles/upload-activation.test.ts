import { addProfile } from '../../assignments/assignment-fixture.js';
import { startRollout, uploadVersion } from '../../assignments/rollouts/rollout-fixture.js';
import { adminApi, startApp, type TestApp } from '../../helpers/app.js';

let app: TestApp;
let api: ReturnType<typeof adminApi>;
let profileId: number;
let identifier: string;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  api = adminApi(app);
});
afterAll(() => app.stop());
beforeEach(async () => {
  ({ id: profileId, identifier } = await addProfile(app));
  await upload('Guests', '?activate=false');
});
afterEach(() => app.db.knex('profiles').delete());

async function upload(ssid: string, query = '') {
  return await uploadVersion(app, { identifier, ssid, query });
}

describe('an upload', () => {
  const versions = async () =>
    await app.db
      .knex('profiles')
      .where({ id: profileId })
      .first('current_version', 'active_version');

  it('is sent to no device while a rollout is open, and the answer says so', async () => {
    const id = await startRollout(api, profileId);
    const { status, body } = await upload('Lobby');
    expect(status).toBe(201);
    expect(body.meta.rollout).toEqual({
      id,
      state: 'running',
      detail:
        `rollout ${id} is running: devices get version 1 or 2. Roll the latest version out once ` +
        'it has ended',
    });
    expect(await versions()).toEqual({ current_version: 3, active_version: 1 });
    await api.post(`/rollouts/${id}/rollback`);
    expect(await versions()).toEqual({ current_version: 3, active_version: 1 });
  });

  it('with activate=false keeps the current version; the next upload without it goes to all', async () => {
    expect(await versions()).toEqual({ current_version: 2, active_version: 1 });
    await upload('Lobby', '?activate=false');
    expect(await versions()).toEqual({ current_version: 3, active_version: 1 });
    const { body } = await upload('Canteen');
    expect(body.meta.rollout).toBeUndefined();
    expect(await versions()).toEqual({ current_version: 4, active_version: null });
    expect((await upload('Canteen', '?activate=maybe')).status).toBe(400);
  });
});
