import request from 'supertest';
import { ADMIN_TOKEN, startApp, type TestApp } from '../helpers/app.js';

const STRINGS = 'application/vnd.api+json; profile="urn:muster:string-ids"';

let app: TestApp;
let device: number;
beforeAll(async () => {
  app = await startApp();
  const [row] = await app.db.knex('devices').insert({ udid: 'a' }).returning('id');
  device = Number(row.id);
});
afterAll(() => app.stop());

function ask(verb: 'get' | 'post', path: string) {
  return request(app.app)
    [verb](`/api/v1${path}`)
    .set({ Authorization: `Bearer ${ADMIN_TOKEN}`, Accept: STRINGS });
}

describe('the profile urn:muster:string-ids', () => {
  it('holds for the commands that an action queues', async () => {
    const { status, body, headers } = await ask('post', `/devices/inventory/${device}`);
    expect([status, headers['content-type']]).toEqual([201, STRINGS]);
    expect(body.data.length).toBeGreaterThan(1);
    for (const command of body.data) {
      expect(command.id).toMatch(/^\d+$/);
      expect(command.relationships.device.data).toEqual({ type: 'devices', id: `${device}` });
    }
  });

  it('holds for an action repeated with its Idempotency-Key', async () => {
    const run = () =>
      ask('post', `/devices/test/${device}`).set('Idempotency-Key', 'k').send(undefined);
    const [first, again] = [await run(), await run()];
    expect(again.headers['idempotency-replayed']).toBe('true');
    expect(again.text).toBe(first.text);
    expect(again.body.data.id).toMatch(/^\d+$/);
  });

  it('holds for a resource of which there is one', async () => {
    const { body, headers } = await ask('get', '/configuration/scep');
    expect([body.data.id, headers['content-type']]).toEqual(['1', STRINGS]);
  });

  it('holds for every collection', async () => {
    const { body } = await ask('get', '/openapi.json');
    const paths = Object.keys(body.paths).filter((path) => /^\/api\/v1(\/[a-z_]+)+$/.test(path));
    const collections = paths.filter((path) => body.paths[path].get && body.paths[path].post);
    expect(collections.length).toBeGreaterThan(15);
    for (const path of collections) {
      const { headers, text } = await ask('get', path.slice('/api/v1'.length));
      expect([path, headers['content-type']]).toEqual([path, STRINGS]);
      expect([path, text]).not.toEqual([path, expect.stringMatching(/"type":"\w+","id":\d/)]);
    }
  });
});
