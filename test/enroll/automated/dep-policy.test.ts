import { askAs, type DepTestServer, startDepTestServer } from '../../dep/asking-device.js';
import { removeTemporaryDirectories } from '../../helpers/temporary-directory.js';

afterAll(removeTemporaryDirectories);

describe.each<[Record<string, string>, Record<'outsider' | 'withAccount' | 'known', number>]>([
  [{}, { outsider: 200, withAccount: 403, known: 200 }],
  [{ ADE_ONLY_KNOWN: 'off' }, { outsider: 200, withAccount: 200, known: 200 }],
  [{ ADE_ONLY_KNOWN: 'on' }, { outsider: 403, withAccount: 403, known: 200 }],
  [{ ENROLLMENT: 'link' }, { outsider: 403, withAccount: 403, known: 200 }],
  [
    { ENROLLMENT: 'link', ADE_ONLY_KNOWN: 'off' },
    { outsider: 403, withAccount: 403, known: 200 },
  ],
  [{ ENROLLMENT: 'closed' }, { outsider: 403, withAccount: 403, known: 403 }],
])('with %j', (env, expected) => {
  let dep: DepTestServer;

  beforeAll(async () => {
    dep = await startDepTestServer({ env, isSweeping: false });
  });
  afterAll(() => dep.app.stop());

  it('a device is allowed if its serial number is known from DEP', async () => {
    const { knex } = dep.app.db;
    // A device row with the serial number alone does not make it known from DEP.
    await knex('devices').insert({ serial_number: 'C02PROGRAM1' });
    expect((await askAs(dep)).status).toBe(expected.outsider);
    await knex('dep_accounts').insert({ server_name: 'School' });
    expect((await askAs(dep)).status).toBe(expected.withAccount);
    await knex('devices').update({ is_dep: true });
    expect((await askAs(dep)).status).toBe(expected.known);
    expect((await askAs(dep, { SERIAL: 'C02OTHER' })).status).toBe(expected.withAccount);
  });
});

it('a refusal names the serial number and what to do about it, to the device and in the log', async () => {
  const dep = await startDepTestServer({ env: { ADE_ONLY_KNOWN: 'on' }, isSweeping: false });
  const { status, type, body } = await askAs(dep);
  await dep.app.stop();
  expect([status, type]).toEqual([403, 'text/plain']);
  const text =
    'serial number C02PROGRAM1 is not known from Automated Device Enrollment: assign the device ' +
    'to this server at Apple and sync the account, or set is_dep on the device';
  expect(body.toString()).toBe(`${text}\n`);
  const refusals = dep.app.logLines.filter(({ detail }) => detail === text);
  expect(refusals).toMatchObject([{ path: '/dep/enroll', status: 403 }]);
});
