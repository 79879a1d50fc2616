import { adminApi, startApp, type TestApp } from '../../helpers/app.js';

let app: TestApp;
let api: ReturnType<typeof adminApi>;
let tagged: number;

const UDID = '00008110-000A1B2C3D4E5F6A';

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  api = adminApi(app);
  const rows = await app.db
    .knex('devices')
    .insert([
      { serial_number: 'C02SEARCH1', device_name: "Anna's MacBook Pro", hostname: 'anna-mbp' },
      { serial_number: 'DMQFINDME', udid: UDID, asset_tag: 'IT-4711' },
      { serial_number: 'F9X', managed_apple_account: 'ben@example.com', device_name: '100%_done' },
      { serial_number: 'NONE' },
      {
        serial_number: 'PHONE',
        wifi_mac: 'a4:83:e7:0c:11:2b',
        bluetooth_mac: 'a4:83:e7:0c:11:2c',
        imei: '356789101112131',
        iccid: '8949226201',
        phone_number: '+41791112233',
        eas_device_identifier: 'APPLDNPX',
        local_hostname: 'bens-phone',
      },
      { serial_number: 'MAC', ethernet_mac: 'a4:83:e7:0c:11:2d' },
    ])
    .returning(['id', 'serial_number']);
  tagged = rows[1].id;
  await app.db.knex('device_users').insert({
    device_id: rows[3].id,
    user_key: 'u1',
    user_id: 'u1',
    short_name: 'chloe',
    long_name: 'Chloé Martin',
  });
});
afterAll(() => app.stop());

async function find(text: string, query = ''): Promise<unknown> {
  const { body } = await api.get(`/devices?filter[search]=${encodeURIComponent(text)}${query}`);
  return (
    body.data?.map(
      ({ attributes }: { attributes: { serial_number: string } }) => attributes.serial_number,
    ) ?? body.errors
  );
}

describe('filter[search] of devices', () => {
  it.each([
    ['half a serial number, in any case', 'search1', ['C02SEARCH1']],
    ['a part of the name', "anna's mac", ['C02SEARCH1']],
    ['the host name', 'anna-mbp', ['C02SEARCH1']],
    ['a UDID', UDID, ['DMQFINDME']],
    ['a part of a UDID, in any case', '1b2c3d4e', ['DMQFINDME']],
    ['an asset tag', '4711', ['DMQFINDME']],
    ['a Managed Apple Account', 'ben@', ['F9X']],
    ['the short name of a user', 'chloe', ['NONE']],
    ['the long name of a user', 'é martin', ['NONE']],
    ['wildcards, which are plain characters', '0%_d', ['F9X']],
    ['spaces around it', '  4711 ', ['DMQFINDME']],
    ['a Wi-Fi address', 'A4:83:E7:0C:11:2B', ['PHONE']],
    ['a Bluetooth address', '0c:11:2c', ['PHONE']],
    ['an Ethernet address', '0c:11:2d', ['MAC']],
    ['an IMEI', '35678910', ['PHONE']],
    ['an ICCID', '8949226201', ['PHONE']],
    ['a phone number', '791112233', ['PHONE']],
    ['an Exchange identifier', 'appldnpx', ['PHONE']],
    ['a local host name', 'bens-ph', ['PHONE']],
    ['nothing', 'not there', []],
  ])('finds a device by %s', async (_case, text, serials) => {
    expect(await find(text)).toEqual(serials);
  });

  it.each(['ab', '  a ', '', 'x'.repeat(101), 'a\0bc'])('is refused for %j', async (text) => {
    const { status, body } = await api.get(`/devices?filter[search]=${encodeURIComponent(text)}`);
    expect([status, body.errors]).toEqual([
      400,
      [
        expect.objectContaining({
          code: 'invalid_parameter',
          detail: '"search" needs a text of 3 to 100 characters in one line',
          source: { parameter: 'filter[search]' },
        }),
      ],
    ]);
  });

  it('goes with other filters, as a rule, and with the total', async () => {
    expect(await find('4711', '&filter[serial_number]=NONE')).toEqual([]);
    const rule = JSON.stringify([{ not: { name: 'search', op: 'contains', val: 'anna' } }]);
    const { body } = await api.get(
      `/devices?sort=-serial_number&filter=${encodeURIComponent(rule)}`,
    );
    expect(body.meta).toEqual({ count: 5, total: 5 });
    const wrong = JSON.stringify([{ name: 'search', op: 'like', val: 'anna' }]);
    const refused = await api.get(`/devices?filter=${encodeURIComponent(wrong)}`);
    expect(refused.body.errors[0].detail).toBe('"search" takes the operator "contains"');
  });

  it('chooses the devices of a batch, as the list shows them', async () => {
    const attributes = {
      request_type: 'DeviceInformation',
      parameters: { Queries: ['OSVersion'] },
      filter: [{ name: 'search', op: 'contains', val: '4711' }],
    };
    const { status, body } = await api.post('/command_batches?dry_run=true', {
      data: { type: 'command_batches', attributes },
    });
    expect([status, body.meta.targets]).toEqual([
      200,
      {
        matched: 1,
        eligible: 0,
        reduced: 0,
        left_out: [],
        refused: [{ code: 'device_not_enrolled', count: 1, examples: [tagged] }],
      },
    ]);
  });

  it('is refused in a rule of a smart group and as a filter of other types', async () => {
    const rule = [{ name: 'search', op: 'contains', val: 'anna' }];
    const group = { type: 'device_groups', attributes: { name: 'smart', kind: 'smart', rule } };
    const { status, body } = await api.post('/device_groups', { data: group });
    expect([status, body.errors[0].source]).toEqual([422, { pointer: '/data/attributes/rule' }]);
    expect((await api.get('/tags?filter[search]=anna')).status).toBe(400);
  });
});
