import { setTimeout as sleep } from 'node:timers/promises';
import { adminApi, startApp, type TestApp } from '../../helpers/app.js';

const MANY = 5_001;

let app: TestApp;
let api: ReturnType<typeof adminApi>;

beforeAll(async () => {
  app = await startApp({ env: { CONFIRM_ABOVE: '3' } });
  api = adminApi(app);
  await app.db.knex.raw(
    `insert into devices (udid, model, platform)
     select 'PHONE-' || n, 'Phone', 'iOS' from generate_series(1, ?) n`,
    [MANY],
  );
  await app.db.knex('devices').insert(
    [1, 2, 3, 4].map((n) => ({
      udid: `MAC-${n}`,
      model: n < 4 ? 'Book' : 'Mini',
      platform: 'macOS',
    })),
  );
});
afterAll(() => app.stop());

const is = (name: string, val: unknown) => [{ name, op: 'eq', val }];
const BOOKS = is('model', 'Book');

async function create(type: 'tags' | 'device_groups', attributes: object): Promise<number> {
  const { status, body } = await api.post(`/${type}`, { data: { type, attributes } });
  expect(status).toBe(201);
  return body.data.id;
}

const devicesOf = (tag: number) =>
  app.db
    .knex('device_tags as t')
    .join('devices as d', 'd.id', 't.device_id')
    .where('t.tag_id', tag)
    .orderBy('d.id')
    .pluck('udid');

async function untilTagged(tag: number, count: number): Promise<void> {
  for (let attempt = 0; attempt < 400; attempt += 1) {
    if ((await devicesOf(tag)).length === count) return;
    await sleep(50);
  }
  throw new Error(`${(await devicesOf(tag)).length} devices have the tag, not ${count}`);
}

describe('the devices of a filter get and lose', () => {
  it('a tag at once, with a line in the audit trail', async () => {
    const tag = await create('tags', { name: 'books' });
    const path = `/tags/${tag}/relationships/devices`;
    const added = await api.post(path, { meta: { filter: BOOKS } });
    expect([added.status, added.body.meta]).toEqual([200, { count: 3, matched: 3 }]);
    expect(added.body.data).toHaveLength(3);
    expect(await devicesOf(tag)).toEqual(['MAC-1', 'MAC-2', 'MAC-3']);
    const trail = await api.get(`/audit_events?filter[action]=tags.devices.add&sort=-id`);
    expect(trail.body.data[0].attributes).toMatchObject({
      target_id: String(tag),
      details: {
        changes: { devices: { added: added.body.data.map(({ id }: { id: number }) => id) } },
      },
    });
    const rules = [{ name: 'udid', op: 'in', val: ['MAC-2', 'MAC-4'] }];
    const removed = await api.delete(path, { meta: { filter: rules } });
    expect([removed.status, removed.body.meta]).toEqual([200, { count: 2, matched: 2 }]);
    expect(await devicesOf(tag)).toEqual(['MAC-1', 'MAC-3']);
  });

  it('a tag after a confirmation, if they are more than CONFIRM_ABOVE', async () => {
    const tag = await create('tags', { name: 'macs' });
    const path = `/tags/${tag}/relationships/devices`;
    const filter = is('platform', 'macOS');
    const refused = await api.post(path, { meta: { filter } });
    expect([refused.status, refused.body.errors]).toMatchObject([
      409,
      [
        {
          code: 'confirmation_required',
          detail:
            'the filter matches 4 devices. If that is meant, repeat the request with "confirm": 4 in ' +
            'its meta, or with ?confirm=4',
          meta: { confirm: 4 },
        },
      ],
    ]);
    expect(await devicesOf(tag)).toEqual([]);
    expect((await api.post(path, { meta: { filter, confirm: 3 } })).status).toBe(409);
    expect((await api.post(path, { meta: { filter, confirm: 4 } })).status).toBe(200);
    expect(await devicesOf(tag)).toEqual(['MAC-1', 'MAC-2', 'MAC-3', 'MAC-4']);
    // It changes nothing, and needs no job.
    const again = await api.post(path, { meta: { filter, confirm: 4 } });
    expect([again.status, again.body.meta]).toEqual([200, { count: 4, matched: 4 }]);
    const gone = await api.delete(`${path}?confirm=4`, { meta: { filter } });
    expect([gone.status, gone.body.data]).toEqual([200, []]);
  });

  it('a tag by jobs, if they are more than 5,000', async () => {
    const tag = await create('tags', { name: 'phones' });
    const path = `/tags/${tag}/relationships/devices`;
    const meta = { filter: is('platform', 'iOS'), confirm: MANY };
    const added = await api.post(path, { meta });
    expect([added.status, added.body]).toEqual([
      202,
      {
        links: { self: `/api/v1${path}` },
        meta: { matched: MANY, changing: MANY },
        jsonapi: { version: '1.0' },
      },
    ]);
    const trail = await api.get(`/audit_events?filter[action]=tags.devices.add&sort=-id`);
    expect(trail.body.data[0].attributes.details).toEqual({
      ...{ filter: meta.filter, matched: MANY, changing: MANY },
    });
    await untilTagged(tag, MANY);
    expect((await api.delete(path, { meta })).status).toBe(202);
    await untilTagged(tag, 0);
  });

  it('the membership of a static group, but not of a smart one', async () => {
    const fixed = await create('device_groups', { name: 'shelf' });
    const smart = await create('device_groups', { name: 'rule', kind: 'smart', rule: BOOKS });
    const add = (group: number, meta: object) =>
      api.post(`/device_groups/${group}/relationships/devices`, { meta });
    expect((await add(fixed, { filter: BOOKS })).body.meta).toEqual({ count: 3, matched: 3 });
    const all = { filter: is('platform', 'iOS'), confirm: MANY };
    const minis = { filter: is('model', 'Mini') };
    for (const meta of [minis, all]) {
      const { status, body } = await add(smart, meta);
      expect([status, body.errors[0].code]).toEqual([409, 'conflict']);
    }
  });
});

describe('a filter in place of identifiers is refused', () => {
  let tag: number;
  beforeAll(async () => {
    tag = await create('tags', { name: 'refusals' });
  });

  it.each([
    ['beside identifiers', { data: [], meta: { filter: BOOKS } }, '/data'],
    ['if it is empty', { meta: { filter: [] } }, '/meta/filter'],
    ['if it is no array', { meta: { filter: BOOKS[0] } }, '/meta/filter'],
    ['if it names no field', { meta: { filter: is('colour', 'red') } }, '/meta/filter'],
  ])('%s', async (_name, body, pointer) => {
    const { status, body: answer } = await api.post(`/tags/${tag}/relationships/devices`, body);
    expect([status, answer.errors[0].source]).toEqual([422, { pointer }]);
  });

  it('by PATCH, and on a relationship that accepts none', async () => {
    const body = { meta: { filter: BOOKS } };
    const replaced = await api.patch(`/tags/${tag}/relationships/devices`, body);
    const other = await api.post(`/tags/${tag}/relationships/profiles`, body);
    const details = [replaced, other].map(({ status, body: { errors } }) => [
      status,
      errors[0].detail,
    ]);
    expect(details).toEqual([
      [422, 'PATCH takes no filter'],
      [422, 'this relationship takes no filter'],
    ]);
  });
});
