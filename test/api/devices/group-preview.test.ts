import { createToken } from '../../../src/auth/api-tokens.js';
import { adminApi, startApp, type TestApp } from '../../helpers/app.js';

let app: TestApp;
let api: ReturnType<typeof adminApi>;
beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  api = adminApi(app);
  await app.db.knex.raw(`insert into devices (serial_number, device_name, os_version)
    select 'S' || n, case when n % 2 = 0 then 'iPad ' || n end,
      case when n <= 12 then '17.4' when n <= 20 then '18.1' end
    from generate_series(1, 25) n`);
});
afterAll(() => app.stop());

const OLD = [{ name: 'os_version', op: 'lt', val: '18' }];
const preview = (body?: object) => api.post('/device_groups/preview', body);

describe('the preview of a rule', () => {
  it('is refused without a token, without a rule, and with every fault of the rule', async () => {
    expect((await adminApi(app, 'none').post('/device_groups/preview', { rule: OLD })).status).toBe(
      401,
    );
    expect((await preview({})).status).toBe(422);
    const wrong = await preview({
      rule: [
        { name: 'nothing', op: 'eq', val: 1 },
        { name: 'battery_level', op: 'lt', val: 1 },
      ],
    });
    expect([
      wrong.status,
      wrong.body.errors.map(({ source }: { source: object }) => source),
    ]).toEqual([422, [{ pointer: '/rule' }, { pointer: '/rule' }]]);
    const inDocument = await preview({ data: { attributes: { rule: [] } } });
    expect([inDocument.status, inDocument.body.errors[0].source]).toEqual([
      422,
      { pointer: '/data/attributes/rule' },
    ]);
    expect((await api.get('/device_groups/preview')).status).toBe(405);
  });

  it('counts the matching devices and those with an unknown result, and shows ten', async () => {
    const flat = await preview({ rule: OLD });
    const ids = await app.db.knex('devices').orderBy('id').pluck('id');
    expect([flat.status, flat.body]).toEqual([
      200,
      {
        meta: {
          count: 12,
          unknown: 5,
          examples: Array.from({ length: 10 }, (_, index) => ({
            id: ids[index],
            name: index % 2 === 1 ? `iPad ${index + 1}` : `S${index + 1}`,
          })),
        },
        links: { self: '/api/v1/device_groups/preview' },
        jsonapi: { version: '1.0' },
      },
    ]);
    const inDocument = await preview({ data: { attributes: { rule: [{ not: OLD[0] }] } } });
    expect(inDocument.body.meta).toMatchObject({ count: 8, unknown: 5 });
    expect(await app.db.knex('device_groups')).toEqual([]);
  });

  it('changes nothing, so it leaves no event in the audit trail', async () => {
    const count = () => app.db.knex('audit_events').count();
    const before = await count();
    expect((await preview({ rule: OLD })).status).toBe(200);
    expect(await count()).toEqual(before);
  });

  it('is open to viewers, too', async () => {
    const context = {
      requestId: 'r',
      actor: { name: 'a', role: 'admin' as const },
      sourceAddress: null,
    };
    const { token } = await createToken(app.db, { name: 'viewer', role: 'viewer' }, context);
    expect((await adminApi(app, token).post('/device_groups/preview', { rule: OLD })).status).toBe(
      200,
    );
  });
});
