import { startApp, type TestApp } from '../helpers/app.js';
import { createTestDevice, type Fields, type TestDevice } from '../helpers/device.js';
import { fixture } from '../protocol/plist/plist-fixtures.js';
import { dumpRows } from './rows.js';

let app: TestApp;
let device: TestDevice;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  device = await (await createTestDevice(app)).enroll();
});
afterAll(() => app.stop());

const ANNA = { UserID: '8A6C5A51-7C60-4B6E-93A6-0E6B7F9C1D22', UserShortName: 'anna' };
const CHANNELS: [string, Fields][] = [
  ['the device', {}],
  ['a user', ANNA],
];

async function ask(fields: Fields, from = device) {
  const { status, headers, body } = await from.checkIn('DeclarativeManagement', fields);
  return { status, type: headers.get('content-type'), text: body.toString() };
}

describe.each(CHANNELS)('on the channel of %s', (_whose, ids) => {
  it.each([
    ['no Endpoint', {}],
    ['an unknown one', { Endpoint: 'everything' }],
    ['a path of its own', { Endpoint: 'declaration/else/x' }],
    ['a status report without Data', { Endpoint: 'status' }],
    ['a status report that is no JSON', { Endpoint: 'status', Data: Buffer.from('<plist/>') }],
  ])('%s gets 400', async (_what, fields) => {
    expect(await ask({ ...ids, ...fields })).toMatchObject({ status: 400, text: '' });
  });

  it('a declaration gets 404: there is none', async () => {
    const fields = { ...ids, Endpoint: 'declaration/configuration/org.example.passcode' };
    expect(await ask(fields)).toMatchObject({ status: 404, text: '' });
  });

  it('tokens and declaration-items are answered with an empty set, the same bytes each time', async () => {
    const tokens = await ask({ ...ids, Endpoint: 'tokens' });
    const items = await ask({ ...ids, Endpoint: 'declaration-items' });
    expect([tokens.status, tokens.type]).toEqual([200, 'application/json']);
    expect([items.status, items.type]).toEqual([200, 'application/json']);
    const { Declarations, DeclarationsToken } = JSON.parse(items.text);
    expect(Declarations).toEqual({
      Activations: [],
      Assets: [],
      Configurations: [],
      Management: [],
    });
    expect(JSON.parse(tokens.text)).toEqual({
      SyncTokens: { DeclarationsToken, Timestamp: '1970-01-01T00:00:00Z' },
    });
    expect(DeclarationsToken).toMatch(/^[0-9a-f]{64}$/);
    expect(await ask({ ...ids, Endpoint: 'tokens' })).toEqual(tokens);
    const other = await (await createTestDevice(app)).enroll();
    expect(await ask({ ...ids, Endpoint: 'tokens' }, other)).toEqual(tokens);
  });

  it.each(['first', 'not-referenced'])('the %s status report gets 200', async (name) => {
    const before = await dumpRows(app.db);
    const Data = fixture(`ddm/status-report.${name}.json`);
    expect(await ask({ ...ids, Endpoint: 'status', Data })).toMatchObject({
      status: 200,
      text: '',
    });
    expect(await dumpRows(app.db)).toEqual(before);
    expect(app.logText()).toContain('status report');
    expect(app.logText()).not.toContain('ZRMXJQTTFX');
  });
});

it('a device that is not enrolled gets 403', async () => {
  const outsider = await createTestDevice(app);
  expect((await ask({ Endpoint: 'tokens' }, outsider)).status).toBe(403);
  await outsider.authenticate();
  expect((await ask({ Endpoint: 'tokens' }, outsider)).status).toBe(403);
});
