import { once } from 'node:events';
import { request } from 'node:http';
import { encodePem } from '../../../src/crypto/asn1/pem.js';
import { generateEcKeyPair, type KeyPair } from '../../../src/crypto/keys/keys.js';
import { issueCertificate, parseCertificate } from '../../../src/crypto/x509/certificate.js';
import { checkCapacity } from '../../../src/lab/dep/organization.js';
import { PORTAL_CALLS, PORTAL_HELP } from '../../../src/lab/dep/portal-calls.js';
import { ControlFault } from '../../../src/lab/wire/control-http.js';
import { openSmime } from '../../helpers/open-smime.js';
import { nextKeys } from '../../helpers/prepared-keys.js';
import { DepUnderTest } from './dep-under-test.js';

let lab: DepUnderTest;
let keys: KeyPair;

beforeAll(async () => {
  lab = await DepUnderTest.start();
  keys = await nextKeys();
});

afterAll(() => lab.stop());

function certificate({ publicKey, privateKey }: KeyPair): Buffer {
  return issueCertificate({
    subject: [{ type: 'CN', value: 'portal' }],
    publicKey,
    issuerKey: privateKey,
    keyUsage: ['keyEncipherment'],
    notBefore: new Date(Date.now() - 1000),
    notAfter: new Date(Date.now() + 86_400_000),
  });
}

async function json(method: string, path: string, body?: unknown) {
  const { status, bytes } = await lab.portal(method, path, body);
  return { status, body: bytes.length === 0 ? undefined : JSON.parse(bytes.toString()) };
}

function open(file: Buffer) {
  const der = certificate(keys);
  const opener = { certificate: parseCertificate(der), privateKey: keys.privateKey };
  return openSmime(file, opener).toString();
}

describe('the portal refuses', () => {
  it.each([
    ['an unknown path', 'GET', '/nothing', undefined, 404],
    ['a name of an object', 'GET', '/constructor', undefined, 404],
    ['an unknown method', 'PUT', '/devices', {}, 405],
    ['what is no certificate', 'POST', '/token', Buffer.from('hello'), 400],
    ['PEM of something else', 'POST', '/token', Buffer.from(encodePem('X', Buffer.from('0'))), 400],
    ['a cipher that nobody knows', 'POST', '/token?cipher=rot13', Buffer.from('x'), 400],
    ['a server without a name', 'GET', '/devices?server=', undefined, 400],
    ['a name that is too long', 'GET', `/devices?server=${'x'.repeat(101)}`, undefined, 400],
    ['a family that is none', 'POST', '/devices', { count: 1, family: 'Newton' }, 400],
    ['too many devices', 'POST', '/devices', { count: 200_001 }, 400],
    ['what is no JSON', 'POST', '/terms', Buffer.from('{'), 400],
    ['an unknown member', 'POST', '/faults', { path: '/x', code: 1 }, 400],
    ['a session status that is none', 'POST', '/sessions/expire', { status: 500 }, 400],
    ['a device that Apple does not know', 'GET', '/activation?serial=NOBODY', undefined, 404],
    ['an activation of nothing', 'GET', '/activation', undefined, 400],
  ])('%s', async (_what, method, path, body, status) => {
    expect((await json(method, path, body)).status).toBe(status);
    expect(lab.standIn.faults()).toEqual([]);
  });

  it('a certificate with a key that can receive nothing', async () => {
    const der = certificate(await generateEcKeyPair());
    expect(await json('POST', '/token', der)).toEqual({
      status: 400,
      body: { error: 'the key of the certificate is not RSA' },
    });
  });

  it('pages in a browser, and hosts by other names', async () => {
    const statusWith = async (headers: Record<string, string>) => {
      const sent = request(new URL('/requests', lab.standIn.portalUrl), { headers });
      sent.end();
      const [response] = await once(sent, 'response');
      response.resume();
      return response.statusCode;
    };
    expect(await statusWith({})).toBe(200);
    expect(await statusWith({ Origin: 'http://evil.example' })).toBe(403);
    expect(await statusWith({ Host: 'evil.example' })).toBe(403);
    expect(await statusWith({ 'Sec-Fetch-Site': 'cross-site' })).toBe(403);
    expect(await statusWith({ 'Sec-Fetch-Site': 'same-site' })).toBe(403);
    expect(await statusWith({ 'Sec-Fetch-Site': 'none' })).toBe(200);
  });
});

it('the portal lists its calls, and each works as in its example', async () => {
  const { status, body } = await json('GET', '/');
  expect([status, body]).toEqual([200, PORTAL_HELP]);
  expect((await json('GET', '/nothing')).body).toEqual({ error: 'there is no such call', ...body });
  const listed = PORTAL_CALLS.map(({ path, method }) => [path, method]);
  for (const path of new Set(PORTAL_CALLS.map((call) => call.path))) {
    const methods = listed.flatMap(([of, method]) => (of === path ? method : []));
    expect([path, (await json('PUT', path)).body.error]).toEqual([path, methods.join(', ')]);
  }
  lab.standIn.portal.addDevices('Muster', { serialNumbers: ['F2LABROOM001'] });
  const pem = Buffer.from(encodePem('CERTIFICATE', certificate(keys)));
  const failed: string[] = [];
  for (const { method, path, query = {}, body: example } of PORTAL_CALLS) {
    const target = `${path}?${new URLSearchParams(query)}`;
    const answer = await lab.portal(method, target, typeof example === 'string' ? pem : example);
    if (answer.status >= 300) failed.push(`${method} ${target}: ${answer.status}`);
  }
  // Apple has no profile for it yet.
  expect(failed).toEqual(['GET /activation?serial=F2LABROOM001: 404']);
  await json('POST', '/terms', { signed: true });
  await json('DELETE', '/faults');
});

describe('devices beyond the capacity of the lab', () => {
  const message = ' devices, including removed ones; there are ';

  it('are refused by the portal before any is made', async () => {
    const added = { serial_numbers: ['F2LABROOM001'], count: 199_990 };
    expect(await json('POST', '/devices?server=full', added)).toEqual({
      status: 422,
      body: { error: `A server of the lab may have 200,000${message}10` },
    });
    expect((await json('GET', '/devices?server=full')).body.total).toBe(10);
  });

  it.each([
    [{ ofServer: 199_999, inAll: 199_999 }, 1, undefined],
    [
      { ofServer: 199_999, inAll: 199_999 },
      2,
      `A server of the lab may have 200,000${message}199,999`,
    ],
    [{ ofServer: 0, inAll: 399_990 }, 10, undefined],
    [
      { ofServer: 0, inAll: 399_991 },
      10,
      `All servers of the lab may have 400,000${message}399,991`,
    ],
  ])('%j and %i more', (counts, more, fault) => {
    const ask = () => checkCapacity(counts, more);
    if (fault === undefined) expect(ask).not.toThrow();
    else expect(ask).toThrow(new ControlFault(422, fault));
  });
});

describe('a token file', () => {
  it('is S/MIME as the one of Apple, for the key of the certificate', async () => {
    const pem = Buffer.from(encodePem('CERTIFICATE', certificate(keys)));
    const { status, bytes } = await lab.portal('POST', '/token?server=files', pem);
    expect(status).toBe(200);
    expect(bytes.toString().split('\r\n').slice(0, 5)).toEqual([
      'Content-Type: application/pkcs7-mime; name="smime.p7m"; smime-type=enveloped-data',
      'Content-Transfer-Encoding: base64',
      'Content-Disposition: attachment; filename="smime.p7m"',
      'Content-Description: S/MIME Encrypted Message',
      '',
    ]);
    const [first, text = '', last, end] = open(bytes).split('\r\n');
    expect([first, last, end]).toEqual(['-----BEGIN MESSAGE-----', '-----END MESSAGE-----', '']);
    expect(JSON.parse(text)).toEqual({
      consumer_key: expect.stringMatching(/^CK_lab_66696c6573_[0-9a-f]{40}$/),
      consumer_secret: expect.stringMatching(/^CS_[0-9a-f]{40}$/),
      access_token: expect.stringMatching(/^AT_O[0-9a-f_]{66}$/),
      access_secret: expect.stringMatching(/^AS_[0-9a-f]{40}$/),
      access_token_expiry: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    });
  });

  it('of the same server renews: another token, the same consumer key', async () => {
    const tokenOf = async (query: string) => {
      const { bytes } = await lab.portal('POST', `/token${query}`, certificate(keys));
      return JSON.parse(open(bytes).split('\r\n')[1] ?? '');
    };
    const one = await tokenOf('?server=renewed');
    const next = await tokenOf('?server=renewed&cipher=des-ede3-cbc&expires_in=-60');
    const other = await tokenOf('');
    expect(next.consumer_key).toBe(one.consumer_key);
    expect(next.access_token).not.toBe(one.access_token);
    expect(next.access_secret).not.toBe(one.access_secret);
    expect(new Date(next.access_token_expiry).getTime()).toBeLessThan(Date.now());
    expect(other.consumer_key).not.toBe(one.consumer_key);
  });
});

describe('devices', () => {
  it('ten of mixed families are there at first', async () => {
    const { body } = await json('GET', '/devices?server=fresh');
    const families = body.devices.map((one: Record<string, string>) => one.device_family);
    expect([body.server, body.total]).toEqual(['fresh', 10]);
    expect(families.join(' ')).toBe('iPhone iPhone iPhone iPhone iPad iPad iPad Mac Mac Mac');
    expect(body.devices[9]).toEqual({
      serial_number: expect.stringMatching(/^[A-Z][0-9A-Z]{9}$/),
      device_family: 'Mac',
      model: 'iMac',
      color: 'SILVER',
      os: 'OSX',
      asset_tag: '',
      description: 'IMAC SILVER/256GB-USA',
      profile_status: 'empty',
      device_assigned_by: 'admin@lab.example',
      device_assigned_date: expect.stringMatching(/Z$/),
    });
  });

  it('are added, moved from server to server, and removed', async () => {
    const serials = ['F2LAB0000001', 'F2LAB0000002'];
    const added = { serial_numbers: serials, family: 'AppleTV', count: 1 };
    const { status, body } = await json('POST', '/devices?server=one', added);
    expect([status, body.serial_numbers.slice(0, 2)]).toEqual([201, serials]);
    expect(body.serial_numbers).toHaveLength(3);
    await json('POST', '/devices?server=two', { serial_numbers: serials.slice(0, 1) });
    const found = await json('GET', `/devices?serial=${serials.join(',')},NOBODY`);
    expect(
      found.body.devices.map((one: Record<string, string>) => [one.server, one.device_family]),
    ).toEqual([
      ['two', 'AppleTV'],
      ['one', 'AppleTV'],
    ]);
    const gone = { serial_numbers: serials };
    expect((await json('DELETE', '/devices?server=one', gone)).body).toEqual({ removed: 1 });
    expect((await json('GET', '/devices?server=one')).body.total).toBe(11);
  });

  it('receive their profile at activation, and keep it from then on', async () => {
    const token = lab.standIn.portal.issueToken({ server: 'activating' });
    await lab.openSession(token);
    const [serial] = lab.standIn.portal.addDevices('activating', { count: 1, family: 'Mac' });
    expect(await json('GET', `/activation?serial=${serial}`)).toEqual({
      status: 404,
      body: { error: `Apple has no profile for ${serial} yet: assign one`, known: true },
    });
    const profile = { profile_name: 'Office', url: 'https://mdm.example.com/dep/enroll' };
    const { profile_uuid } = await lab.ask('POST', '/profile', { ...profile, devices: [serial] });
    const activated = await json('GET', `/activation?serial=${serial}`);
    expect(activated).toMatchObject({
      status: 200,
      body: { profile, device: { device_family: 'Mac', profile_status: 'pushed', profile_uuid } },
    });
    const { devices } = await lab.ask('POST', '/devices', { devices: [serial] });
    expect(devices[serial ?? '']).toMatchObject({
      profile_status: 'pushed',
      profile_push_time: expect.stringMatching(/Z$/),
    });
  });
});
