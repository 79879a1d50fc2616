import { createToken } from '../../src/auth/api-tokens.js';
import { deliver, enrolledTarget, type Target } from '../commands/deliver.js';
import { adminApi, startApp, type TestApp } from '../helpers/app.js';
import { longestTurnBelow } from '../helpers/loop-busy.js';

/** Writing this result at once takes 400 ms and more. */
const MAX_TURN_MS = 150;

let app: TestApp;
let target: Target;
let id: number;

const Items = Array.from({ length: 60_000 }, (_, at) => ({ Name: `value ${at}`, Size: at }));
const RESULT = { Items, Password: 'not for everybody', URL: 'https://u:p@example.com' };

beforeAll(async () => {
  app = await startApp();
  target = await enrolledTarget(app);
  const body = { ManagedMediaList: [RESULT] };
  const uuid = await deliver(app, target, { requestType: 'ManagedMediaList', body });
  const command = await app.db.knex('commands').where({ uuid }).first('id');
  id = command.id;
});
afterAll(() => app.stop());

const SHOWN = { Items, Password: '********', URL: 'https://u:p@example.com' };

interface Shown {
  attributes: { result: { ManagedMediaList: unknown[] } };
}

function listOf({ attributes }: Shown): unknown[] {
  return attributes.result.ManagedMediaList;
}

describe('a result of megabytes', () => {
  it('is shown with its secrets masked, without holding up the event loop', async () => {
    let text = '';
    const turn = await longestTurnBelow(MAX_TURN_MS, async () => async () => {
      const response = await fetch(`${app.url}/api/v1/commands/${id}`, {
        headers: { Authorization: 'Bearer admin-token-of-the-tests' },
      });
      text = await response.text();
    });
    expect(turn).toBeLessThan(MAX_TURN_MS);
    expect(listOf(JSON.parse(text).data)).toEqual([SHOWN]);
  });

  it('is the same in a list, and with string ids', async () => {
    const list = await adminApi(app).get(`/commands?filter[id]=${id}&fields[commands]=result`);
    expect(listOf(list.body.data[0])).toEqual([SHOWN]);
    const typed = await adminApi(app)
      .get(`/commands/${id}`)
      .set('Accept', 'application/vnd.api+json; profile="urn:muster:string-ids"');
    expect(typed.body.data.id).toBe(String(id));
    expect(listOf(typed.body.data)).toEqual([SHOWN]);
  });

  it('is the same in what a device includes', async () => {
    const path = `/devices/${target.id}?include=commands&fields[commands]=result`;
    const { body } = await adminApi(app).get(path);
    expect(listOf(body.included[0])).toEqual([SHOWN]);
  });

  it('shows viewers no credentials in URLs', async () => {
    const actor = { name: 'test', role: 'admin' as const };
    const context = { requestId: 'test', actor, sourceAddress: null };
    const { token } = await createToken(app.db, { name: 'viewer', role: 'viewer' }, context);
    const viewer = adminApi(app, token);
    const { body } = await viewer.get(`/commands/${id}`);
    expect(listOf(body.data)).toEqual([{ ...SHOWN, URL: 'https://********@example.com' }]);
  });

  it('is null when the limits of today do not let it be read', async () => {
    const references = Buffer.from(
      `<plist><dict><key>A</key><string>${'&amp;'.repeat(200_001)}</string></dict></plist>`,
    );
    await app.db.knex('commands').where({ id }).update({ result: references });
    const { status, body } = await adminApi(app).get(`/commands/${id}`);
    expect([status, body.data.attributes.result]).toEqual([200, null]);
  });
});
