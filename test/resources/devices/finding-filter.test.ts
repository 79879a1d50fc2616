import { FINDING_CODES } from '../../../src/diagnosis/finding-texts.js';
import { devices } from '../../../src/resources/devices/devices.js';
import { adminApi, startApp, type TestApp } from '../../helpers/app.js';

let app: TestApp;
let api: ReturnType<typeof adminApi>;

const FINDINGS: Record<string, string[]> = {
  SILENT: ['silent'],
  BOTH: ['silent', 'not_now'],
  REFUSED: ['push_token_refused'],
  FINE: [],
};

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  api = adminApi(app);
  const { knex } = app.db;
  for (const [serial, codes] of Object.entries(FINDINGS)) {
    const [{ id }] = await knex('devices').insert({ serial_number: serial }).returning('id');
    const of = { device_id: id, severity: 'attention', since: new Date() };
    for (const code of codes) await knex('device_findings').insert({ ...of, code });
    await knex('commands').insert({
      uuid: `00000000-0000-4000-8000-${String(id).padStart(12, '0')}`,
      request_type: 'ProfileList',
      payload: Buffer.alloc(1),
      device_id: id,
    });
  }
});
afterAll(() => app.stop());

interface Listed {
  data: { attributes: { serial_number: string } }[];
  errors?: unknown;
}

async function serials(query: Record<string, string>): Promise<string[]> {
  const asked = new URLSearchParams({ ...query, sort: 'serial_number' });
  const { status, body } = await api.get(`/devices?${asked}`);
  expect([status, body.errors]).toEqual([200, undefined]);
  return (body as Listed).data.map(({ attributes }) => attributes.serial_number);
}

const rule = (value: unknown) => ({ 'filter[]': JSON.stringify(value) });

async function fault(query: Record<string, string>): Promise<unknown> {
  const { status, body } = await api.get(`/devices?${new URLSearchParams(query)}`);
  return [status, body.errors?.[0].detail];
}

describe('devices by what the diagnosis has found', () => {
  it('know every code', () => {
    expect(new Set(devices.codes?.findings?.values)).toEqual(new Set(FINDING_CODES));
  });

  it('have one of the codes of the short form', async () => {
    expect(await serials({ 'filter[findings]': 'silent' })).toEqual(['BOTH', 'SILENT']);
    expect(await serials({ 'filter[findings]': 'not_now,push_token_refused' })).toEqual([
      'BOTH',
      'REFUSED',
    ]);
  });

  it('have a code, or one of several, or not', async () => {
    const silent = { name: 'findings', op: 'eq', val: 'silent' };
    const notNow = { name: 'findings', op: 'eq', val: 'not_now' };
    expect(await serials(rule([silent, notNow]))).toEqual(['BOTH']);
    expect(await serials(rule({ not: silent }))).toEqual(['FINE', 'REFUSED']);
    const either = { name: 'findings', op: 'in', val: ['not_now', 'push_token_refused'] };
    expect(await serials(rule(either))).toEqual(['BOTH', 'REFUSED']);
    expect(await serials(rule({ ...either, val: [] }))).toEqual([]);
  });

  it('are found from their commands, too', async () => {
    const { body } = await api.get('/commands?filter[device__findings]=push_token_refused');
    expect(body.data).toHaveLength(1);
  });

  it('are counted and put into facets', async () => {
    const { body } = await api.get('/devices/facets?by=is_enrolled&filter[findings]=silent');
    expect(body.meta.facets.is_enrolled).toEqual([{ value: false, count: 2 }]);
  });

  it('refuse an unknown code, naming the known ones', async () => {
    const [status, detail] = (await fault({ 'filter[findings]': 'silence' })) as [number, string];
    expect(status).toBe(400);
    expect(detail).toMatch(/^"findings" has no code "silence"; .*\bsilent\b/);
  });

  it.each([
    { op: 'contains', val: 'silent' },
    { op: 'eq', val: 7 },
    { op: 'eq', val: null },
    { op: 'in', val: 'silent' },
    { op: 'in', val: ['silent', 7] },
  ])('refuse the rule %o', async (given) => {
    expect(await fault(rule({ name: 'findings', ...given }))).toEqual([
      400,
      '"findings" takes "eq" with a code, or "in" with an array',
    ]);
  });

  it('cannot be sorted by it, nor be the rule of a smart group', async () => {
    expect(await fault({ sort: 'findings' })).toEqual([
      400,
      expect.stringContaining('devices can\'t be sorted by "findings"'),
    ]);
    const rules = [{ name: 'findings', op: 'eq', val: 'silent' }];
    const attributes = { name: 'Silent', kind: 'smart', rule: rules };
    const { status, body } = await api.post('/device_groups', {
      data: { type: 'device_groups', attributes },
    });
    expect(status).toBe(422);
    expect(body.errors[0].detail).toContain('a rule can\'t look for findings; use "health"');
  });
});
