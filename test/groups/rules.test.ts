import { adminApi, startApp, type TestApp } from '../helpers/app.js';

let app: TestApp;
let api: ReturnType<typeof adminApi>;
beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  api = adminApi(app);
});
afterAll(() => app.stop());

type Rule = object[];

function document(name: string, rule: unknown, kind = 'smart') {
  return { data: { type: 'device_groups', attributes: { name, kind, rule } } };
}

async function faultsOf(rule: unknown): Promise<[status: number, faults: string[]]> {
  const { status, body } = await api.post(
    '/device_groups',
    document(`refused ${Math.random()}`, rule),
  );
  const pointers = new Set(
    body.errors?.map(({ source }: { source: object }) => JSON.stringify(source)),
  );
  expect([...pointers]).toEqual(['{"pointer":"/data/attributes/rule"}']);
  return [status, body.errors.map(({ detail }: { detail: string }) => detail)];
}

async function create(name: string, rule: Rule): Promise<number> {
  const { status, body } = await api.post('/device_groups', document(name, rule));
  expect([status, body.errors]).toEqual([201, undefined]);
  return body.data.id;
}

const inGroup = (id: number) => ({
  name: 'device_groups',
  op: 'any',
  val: { name: 'id', op: 'eq', val: id },
});

describe('the rule of a smart group', () => {
  it('is refused with every fault', async () => {
    const rule = [
      { name: 'os_versoin', op: 'lt', val: '18' },
      { name: 'platform', op: 'eq', val: 'Windows' },
      {
        or: [
          { name: 'is_supervised', op: 'gt', val: true },
          { name: 'model', op: 'near', val: 'x' },
        ],
      },
      { name: 'serial_number', op: 'eq', val: 'C02' },
    ];
    const [status, faults] = await faultsOf(rule);
    expect(status).toBe(422);
    expect(faults).toEqual([
      expect.stringMatching(/^rule\[0\]: devices can't be filtered by "os_versoin"/),
      'rule[1]: "platform" must be one of iOS, macOS, tvOS, visionOS, watchOS',
      'rule[2].or[0]: "gt" does not apply to "is_supervised"',
      expect.stringMatching(/^rule\[2\]\.or\[1\]: unknown operator "near"/),
    ]);
  });

  it.each([
    [
      'what changes with every report',
      { name: 'battery_level', op: 'lt', val: 0.2 },
      /"battery_level" changes with every report/,
    ],
    [
      'free space',
      { name: 'available_device_capacity', op: 'lt', val: 5 },
      /changes with every report/,
    ],
    [
      'the time of the last contact',
      { name: 'last_seen', op: 'lt', val: '2026-01-01' },
      /compare it with a duration/,
    ],
    ['a duration and eq', { name: 'last_seen', op: 'eq', val: 'P30D' }, /lt is older, gt younger/],
    [
      'a duration of minutes',
      { name: 'last_seen', op: 'lt', val: 'PT30M' },
      /a duration such as P30D/,
    ],
    [
      'other relationships',
      { name: 'users', op: 'any', val: { name: 'short_name', op: 'eq', val: 'x' } },
      /can't look into device_users/,
    ],
    [
      'what is two relationships away',
      {
        name: 'tags',
        op: 'any',
        val: { name: 'devices', op: 'any', val: { name: 'id', op: 'eq', val: 1 } },
      },
      /can't look from tags into devices/,
    ],
    [
      'the description of a group',
      { name: 'device_groups__description', op: 'eq', val: 'x' },
      /can compare id, name of device_groups/,
    ],
    [
      'the contents of a DEP profile',
      { name: 'dep_profile__profile_name', op: 'eq', val: 'x' },
      /can't look into dep_profiles/,
    ],
    [
      'when a custom attribute was set',
      { name: 'custom_attributes__updated_at', op: 'gt', val: '2026-01-01' },
      /can compare name, value of custom_attributes/,
    ],
  ])('may not refer to %s', async (_what, node, message) => {
    const [status, faults] = await faultsOf([node]);
    expect([status, faults]).toEqual([422, [expect.stringMatching(message)]]);
  });

  it('has limits', async () => {
    const leaf = { name: 'model', op: 'eq', val: 'x' };
    const nested = { not: { not: { not: { not: { not: { not: leaf } } } } } };
    const long = {
      name: 'model',
      op: 'in',
      val: Array.from({ length: 1000 }, () => 'x'.repeat(80)),
    };
    expect(await faultsOf([])).toEqual([422, [expect.stringMatching(/at least one filter/)]]);
    expect(await faultsOf([nested])).toEqual([422, [expect.stringMatching(/nest 5 levels/)]]);
    expect(await faultsOf([long])).toEqual([422, [expect.stringMatching(/64000 characters/)]]);
    const many = Array.from({ length: 51 }, () => leaf);
    expect(await faultsOf(many)).toEqual([422, [expect.stringMatching(/50 rules/)]]);
  });

  it('belongs to a smart group, which needs one', async () => {
    expect(await faultsOf(null)).toEqual([422, ['a smart group needs a rule']]);
    const rule = [{ name: 'model', op: 'eq', val: 'x' }];
    const { status, body } = await api.post(
      '/device_groups',
      document('with a rule', rule, 'static'),
    );
    expect([status, body.errors[0].source]).toEqual([422, { pointer: '/data/attributes/rule' }]);
    const id = (await api.post('/device_groups', document('by hand', null, 'static'))).body.data.id;
    const changed = await api.patch(`/device_groups/${id}`, {
      data: { type: 'device_groups', attributes: { rule } },
    });
    expect([changed.status, changed.body.errors[0].detail]).toEqual([
      422,
      'a static group has no rule: create another group with "kind": "smart"',
    ]);
  });

  it('may name only groups that exist, by their ids', async () => {
    const isIn = {
      name: 'device_groups',
      op: 'any',
      val: { name: 'id', op: 'in', val: [987_654, 987_655] },
    };
    expect(await faultsOf([{ not: isIn }, inGroup(987_656)])).toEqual([
      422,
      [
        'there is no device group 987654',
        'there is no device group 987655',
        'there is no device group 987656',
      ],
    ]);
  });

  it('must not refer to its own group, by ids or by names', async () => {
    const a = await create('A', [{ name: 'model', op: 'eq', val: 'x' }]);
    const b = await create('B', [inGroup(a)]);
    const c = await create('C', [{ not: { name: 'device_groups__name', op: 'eq', val: 'B' } }]);
    const { status, body } = await api.patch(`/device_groups/${a}`, {
      data: { type: 'device_groups', attributes: { rule: [inGroup(c)] } },
    });
    expect([status, body.errors[0].source]).toEqual([422, { pointer: '/data/attributes/rule' }]);
    expect(body.errors[0].detail).toContain(`A (${a})`);
    expect(body.errors[0].detail).toContain(`B (${b})`);
    expect(body.errors[0].detail).toContain(`C (${c})`);
    const itself = await api.patch(`/device_groups/${a}`, {
      data: { type: 'device_groups', attributes: { rule: [inGroup(a)] } },
    });
    expect([itself.status, itself.body.errors[0].detail]).toEqual([
      422,
      expect.stringContaining(`A (${a}) → A (${a})`),
    ]);
    const later = await create('later', [{ name: 'device_groups__name', op: 'eq', val: 'E' }]);
    const d = await create('D', [inGroup(later)]);
    const renamed = await api.patch(`/device_groups/${d}`, {
      data: { type: 'device_groups', attributes: { name: 'E' } },
    });
    expect([renamed.status, renamed.body.errors[0].code]).toEqual([422, 'validation_failed']);
  });

  it('protects the groups that it refers to from deletion', async () => {
    const inner = await create('looked into', [{ name: 'model', op: 'eq', val: 'x' }]);
    const { body } = await api.post('/device_groups', document('by hand, too', null, 'static'));
    const outer = await create('looks', [inGroup(inner), { not: inGroup(body.data.id) }]);
    for (const id of [inner, body.data.id]) {
      const { status, body: refused } = await api.delete(`/device_groups/${id}`);
      expect([status, refused.errors[0]]).toMatchObject([
        409,
        {
          code: 'in_use',
          detail: `the rule of smart group looks (${outer}) looks into the group: change it first`,
        },
      ]);
    }
    expect((await api.delete(`/device_groups/${outer}`)).status).toBe(204);
    expect((await api.delete(`/device_groups/${inner}`)).status).toBe(204);
    expect((await api.delete('/device_groups/987654')).status).toBe(404);
  });

  it('stays with its group, whose kind cannot be changed', async () => {
    const id = await create('of one kind', [{ name: 'model', op: 'eq', val: 'x' }]);
    const changed = { type: 'device_groups', attributes: { kind: 'static' } };
    const { status, body } = await api.patch(`/device_groups/${id}`, { data: changed });
    expect([status, body.errors[0]]).toMatchObject([
      422,
      {
        detail: 'kind never changes: create another group',
        source: { pointer: '/data/attributes/kind' },
      },
    ]);
  });

  it('may refer to five levels of other groups', async () => {
    let last = await create('level 0', [{ name: 'model', op: 'eq', val: 'x' }]);
    for (let level = 1; level <= 5; level += 1)
      last = await create(`level ${level}`, [inGroup(last)]);
    const [status, faults] = await faultsOf([inGroup(last)]);
    expect([status, faults]).toEqual([
      422,
      [expect.stringMatching(/^rules may look through 5 others/)],
    ]);
  });

  it('is stored as sent, with the facts that it mentions', async () => {
    const rule = [
      { name: 'os_version', op: 'lt', val: '18' },
      { name: 'tags', op: 'any', val: { name: 'name', op: 'eq', val: 'kiosk' } },
      { name: 'dep_profile', op: 'eq', val: 3 },
      { name: 'last_seen', op: 'lt', val: 'P30D' },
      {
        name: 'installed_applications',
        op: 'any',
        val: {
          and: [
            { name: 'bundle_identifier', op: 'eq', val: 'com.example.app' },
            { name: 'short_version', op: 'lt', val: '2.10' },
          ],
        },
      },
    ];
    const id = await create('stored', rule);
    const { body } = await api.get(`/device_groups/${id}`);
    expect(body.data.attributes).toMatchObject({ kind: 'smart', rule, evaluated_at: null });
    const row = await app.db.knex('device_groups').where({ id }).first();
    expect(row.rule_facts).toEqual([
      'dep_profile_id',
      'installed_applications',
      'last_seen',
      'os_version',
      'tags',
      'time',
    ]);
    const state = await app.db
      .knex('smart_group_state')
      .first('facts', app.db.knex.raw('shortest_age::text as age'));
    expect(state.facts).toEqual(expect.arrayContaining(row.rule_facts));
    expect(state.age).toBe('720:00:00');
    const job = await app.db
      .knex('jobs')
      .where({ key: `groups.evaluate:${id}` })
      .first('task', 'status');
    expect(job).toEqual({ task: 'groups.evaluate', status: 'waiting' });
    expect((await api.delete(`/device_groups/${id}`)).status).toBe(204);
    const after = await app.db.knex('smart_group_state').first();
    expect([after.facts.includes('tags'), after.shortest_age]).toEqual([false, null]);
  });
});
