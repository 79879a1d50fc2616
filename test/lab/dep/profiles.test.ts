import { DepUnderTest } from './dep-under-test.js';

let lab: DepUnderTest;
let name = '';
let count = 0;

beforeAll(async () => {
  lab = await DepUnderTest.start();
});

beforeEach(async () => {
  count += 1;
  name = `server ${count}`;
  await lab.openSession(lab.standIn.portal.issueToken({ server: name }));
});

afterAll(() => lab.stop());

const PROFILE = { profile_name: 'Office', url: 'https://mdm.example.com/dep/enroll' };

async function refusal(method: string, path: string, body?: unknown): Promise<string> {
  const { status, text } = await lab.call(method, path, body);
  return `${status} ${text}`;
}

async function define(changes: object = {}): Promise<string> {
  return (await lab.ask('POST', '/profile', { ...PROFILE, ...changes })).profile_uuid;
}

function add(serials: number): string[] {
  return lab.standIn.portal.addDevices(name, { count: serials, family: 'Mac' });
}

describe('a profile is refused', () => {
  it.each([
    ['without a name', { profile_name: undefined }, 'CONFIG_NAME_REQUIRED'],
    ['with an empty name', { profile_name: '' }, 'CONFIG_NAME_INVALID'],
    ['with a name of 126 characters', { profile_name: 'x'.repeat(126) }, 'CONFIG_NAME_INVALID'],
    ['without a URL', { url: undefined }, 'CONFIG_URL_REQUIRED'],
    ['with plain http', { url: 'http://mdm.example.com' }, 'CONFIG_URL_INVALID'],
    ['with a URL that is none', { url: 'mdm.example.com' }, 'CONFIG_URL_INVALID'],
    ['with an empty department', { department: '' }, 'DEPARTMENT_INVALID'],
    ['with a long magic', { org_magic: 'x'.repeat(257) }, 'MAGIC_INVALID'],
    ['with a long address', { support_email_address: 'x'.repeat(251) }, 'SUPPORT_EMAIL_INVALID'],
    ['with a long number', { support_phone_number: '1'.repeat(51) }, 'SUPPORT_PHONE_INVALID'],
    ['that stays without supervision', { is_mdm_removable: false }, 'FLAGS_INVALID'],
    ['with a flag that is text', { is_mandatory: 'yes' }, 'MALFORMED_REQUEST_BODY'],
    ['with a language that is none', { language: 'English' }, 'LOCALE_INVALID'],
    ['with certificates that are none', { anchor_certs: ['<>'] }, 'MALFORMED_REQUEST_BODY'],
    ['with skip keys that are no list', { skip_setup_items: 'Siri' }, 'MALFORMED_REQUEST_BODY'],
  ])('%s', async (_what, changes, words) => {
    expect(await refusal('POST', '/profile', { ...PROFILE, ...changes })).toBe(`400 ${words}`);
  });

  it('that is no JSON object', async () => {
    expect(await refusal('POST', '/profile', [])).toBe('400 MALFORMED_REQUEST_BODY');
    expect(await refusal('POST', '/profile', Buffer.from('{'))).toBe('400 MALFORMED_REQUEST_BODY');
  });
});

describe('a profile', () => {
  it('is defined, returned, and assigned to the devices that were sent with it', async () => {
    const [serial = ''] = add(1);
    const answer = await lab.ask('POST', '/profile', { ...PROFILE, devices: [serial, 'NOBODY'] });
    expect(answer).toEqual({
      profile_uuid: expect.stringMatching(/^[0-9A-F]{32}$/),
      devices: { [serial]: 'SUCCESS', NOBODY: 'NOT_ACCESSIBLE' },
    });
    const { profile_uuid } = answer;
    const path = `/profile?profile_uuid=${profile_uuid}`;
    expect(await lab.ask('GET', path)).toEqual({ profile_uuid, ...PROFILE });
    expect(await refusal('GET', '/profile')).toBe('400 PROFILE_UUID_REQUIRED');
    expect(await refusal('GET', '/profile?profile_uuid=X')).toBe('404 PROFILE_NOT_FOUND');
  });

  it('is assigned and unassigned, device by device', async () => {
    const [one = '', other = ''] = add(2);
    const profile_uuid = await define();
    const devices = [one, other, 'NOBODY'];
    for (const method of ['PUT', 'POST']) {
      expect(await lab.ask(method, '/profile/devices', { profile_uuid, devices })).toEqual({
        profile_uuid,
        devices: { [one]: 'SUCCESS', [other]: 'SUCCESS', NOBODY: 'NOT_ACCESSIBLE' },
      });
    }
    const shown = async () => (await lab.ask('POST', '/devices', { devices })).devices;
    expect(await shown()).toMatchObject({
      [one]: { profile_uuid, profile_status: 'assigned', response_status: 'SUCCESS' },
      NOBODY: { response_status: 'NOT_ACCESSIBLE' },
    });
    expect(await lab.ask('DELETE', '/profile/devices', { devices: [one] })).toEqual({
      devices: { [one]: 'SUCCESS' },
    });
    const { [one]: without } = await shown();
    expect([without.profile_status, without.profile_uuid]).toEqual(['removed', undefined]);
  });

  it('is not assigned when it is unknown, to no device, or to too many', async () => {
    const profile_uuid = await define();
    const assign = (body: object) => refusal('PUT', '/profile/devices', body);
    expect(await assign({ devices: ['X'] })).toBe('400 PROFILE_UUID_REQUIRED');
    expect(await assign({ profile_uuid: 'X', devices: ['X'] })).toBe('404 PROFILE_NOT_FOUND');
    expect(await assign({ profile_uuid, devices: [] })).toBe('400 DEVICE_ID_REQUIRED');
    const devices = Array.from({ length: 1001 }, (_, i) => `S${i}`);
    expect(await assign({ profile_uuid, devices })).toBe('400 MALFORMED_REQUEST_BODY');
    expect(await refusal('DELETE', '/profile/devices', {})).toBe('400 DEVICE_ID_REQUIRED');
  });
});

describe('a device', () => {
  it('is locked once', async () => {
    const [device = ''] = add(1);
    const lock = { device, escrow_key: 'ab'.repeat(32), lost_message: 'call us' };
    const locked = () => lab.ask('POST', '/device/activationlock', lock);
    expect(await locked()).toEqual({ serial_number: device, response_status: 'SUCCESS' });
    expect((await locked()).response_status).toBe('DEVICE_ALREADY_LOCKED');
    const unknown = { device: 'NOBODY' };
    expect((await lab.ask('POST', '/device/activationlock', unknown)).response_status).toBe(
      'NOT_ACCESSIBLE',
    );
    expect(await refusal('POST', '/device/activationlock', { device, escrow_key: 'x' })).toBe(
      '400 MALFORMED_REQUEST_BODY',
    );
    expect(await refusal('POST', '/device/activationlock', {})).toBe('400 DEVICE_ID_REQUIRED');
  });

  it('is disowned, and removed from the account', async () => {
    const [device = ''] = add(1);
    const disown = () => lab.ask('POST', '/devices/disown', { devices: [device] });
    expect(await disown()).toEqual({ devices: { [device]: 'SUCCESS' } });
    expect(await disown()).toEqual({ devices: { [device]: 'NOT_ACCESSIBLE' } });
  });
});
