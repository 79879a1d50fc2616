import { startApp, type TestApp } from '../../helpers/app.js';
import { browserOf, CONSOLE, faultOf, type Headers, newToken } from './session-browser.js';

let app: TestApp;
let browser: ReturnType<typeof browserOf>;
let deviceId: number;
let otherId: number;

beforeAll(async () => {
  const env = { PUBLIC_URL: 'http://localhost:8080', CONFIRM_ABOVE: '1' };
  app = await startApp({ isSweeping: false, env });
  browser = browserOf(app);
  const enrolled = {
    ...{ is_enrolled: true, enrollment_state: 'enrolled', enrollment_type: 'device' },
    ...{ platform: 'iOS', os_version: '18.1', is_supervised: true },
  };
  const rows = await app.db
    .knex('devices')
    .insert([
      { ...enrolled, serial_number: 'RECENT1', udid: 'recent-1' },
      { ...enrolled, serial_number: 'RECENT2', udid: 'recent-2' },
    ])
    .returning('id');
  [deviceId, otherId] = rows.map(({ id }: { id: number }) => id) as [number, number];
});
afterAll(() => app.stop());

/** Headers of a session whose person signed in so many minutes ago. */
async function signedIn(minutes: number, token?: string): Promise<Headers> {
  const { id, cookie } = await browser.signedIn(token);
  const authenticated_at = new Date(Date.now() - minutes * 60_000);
  await app.db.knex('sessions').where({ id }).update({ authenticated_at });
  return { ...cookie, ...CONSOLE };
}

function command(request_type: string, parameters: object = {}) {
  const device = { data: { type: 'devices', id: deviceId } };
  const attributes = { request_type, parameters };
  return { data: { type: 'commands', attributes, relationships: { device } } };
}

function batch(request_type: string, meta?: object) {
  const data = [deviceId, otherId].map((id) => ({ type: 'devices', id }));
  const relationships = { devices: { data } };
  return { data: { type: 'command_batches', attributes: { request_type }, relationships }, meta };
}

const SENSITIVE: [what: string, method: string, path: () => string, body: () => unknown][] = [
  ['an erase', 'POST', () => '/commands', () => command('EraseDevice')],
  [
    'a command that reveals a secret',
    'POST',
    () => '/commands',
    () => command('RequestUnlockToken'),
  ],
  [
    'an erase for a quick check',
    'POST',
    () => `/devices/test/${deviceId}`,
    () => ({ request_type: 'EraseDevice' }),
  ],
  [
    'an erase of many',
    'POST',
    () => '/command_batches',
    () => batch('EraseDevice', { confirm: 2 }),
  ],
  [
    'what is confirmed',
    'POST',
    () => '/command_batches',
    () => batch('RestartDevice', { confirm: 2 }),
  ],
  ['what is confirmed in the query', 'DELETE', () => '/tags/999?confirm=7', () => undefined],
  [
    'the reveal of a secret',
    'POST',
    () => `/devices/${deviceId}/secrets/1/reveal`,
    () => ({ reason: 'a test' }),
  ],
  ['the download of a key', 'GET', () => '/rsa_private_keys/1/download', () => undefined],
  [
    'disowning',
    'POST',
    () => '/dep/devices/disown',
    () => ({ serial_numbers: ['RECENT1'], confirm: 'RECENT1' }),
  ],
];

describe('a session of which the sign-in is older than 15 minutes', () => {
  it.each(SENSITIVE)('is refused %s', async (_what, method, path, body) => {
    const before = await app.db.knex('commands').count();
    const reply = await browser.call(method, path(), await signedIn(16), body());
    expect(faultOf(reply)).toEqual([403, 'reauthentication_required']);
    expect(reply.body.errors[0].detail).toBe(
      'this needs a sign-in of the last 15 minutes: sign in again, then repeat it',
    );
    expect(await app.db.knex('commands').count()).toEqual(before);
  });

  it('leaves the refusal of a reveal in the audit trail', async () => {
    const path = `/devices/${deviceId}/secrets/1/reveal`;
    await browser.call('POST', path, await signedIn(16), { reason: 'a test' });
    const [event] = await app.db.knex('audit_events').orderBy('id', 'desc').limit(1);
    expect(event).toMatchObject({
      action: 'devices.reveal_secret',
      outcome: 'refused',
      details: { code: 'reauthentication_required' },
    });
  });

  it('may do everything else, and receives the number to confirm', async () => {
    const headers = await signedIn(16);
    const lock = await browser.call(
      'POST',
      '/commands',
      headers,
      command('DeviceInformation', {
        Queries: ['OSVersion'],
      }),
    );
    expect(lock.status).toBe(201);
    const unconfirmed = await browser.call(
      'POST',
      '/command_batches',
      headers,
      batch('RestartDevice'),
    );
    expect(faultOf(unconfirmed)).toEqual([409, 'confirmation_required']);
  });

  it('is refused first because of its role', async () => {
    const headers = await signedIn(16, (await newToken(app, 'operator')).token);
    const reply = await browser.call('POST', '/commands', headers, command('EraseDevice'));
    expect(faultOf(reply)).toEqual([403, 'forbidden']);
  });
});

describe('a client that has signed in recently, or sends a token,', () => {
  it.each(SENSITIVE)('is not refused %s', async (_what, method, path, body) => {
    const { token } = await newToken(app, 'admin');
    for (const headers of [await signedIn(14), { Authorization: `Bearer ${token}` }]) {
      const reply = await browser.call(method, path(), headers, body());
      expect(JSON.stringify(reply.body)).not.toContain('reauthentication_required');
    }
  });

  it('may repeat what was refused once they have signed in again', async () => {
    const headers = await signedIn(16);
    const again = await browser.signInWith(
      { token: (await newToken(app, 'admin')).token },
      headers,
    );
    const cookie = again.headers.get('set-cookie')?.split(';')[0] ?? '';
    const renewed = { ...CONSOLE, Cookie: cookie };
    const reply = await browser.call('POST', '/commands', renewed, command('EraseDevice'));
    expect(reply.status).toBe(201);
  });
});
