import type { DepAccounts, DepApi } from '../../../src/dep/client/dep-api.js';
import { type AccountFixture, failureOf, NOW, startAccountFixture } from './account-fixture.js';
import type { DepService } from './dep-service.js';

let fixture: AccountFixture;
let service: DepService;

beforeAll(async () => {
  fixture = await startAccountFixture();
  service = fixture.service;
});
afterEach(() => fixture.reset());
afterAll(() => fixture.stop());

const PAGE = { body: { devices: [], cursor: 'c2', more_to_follow: false } };
const UUID = 'c1f12309-8eb5-0745-8004-1e69883004c3';
const OF_LAB = { consumer_key: 'CK_lab1' };

const fetchPage = (api: DepApi) => api.fetchDevices({ cursor: null, limit: 1000 });

async function used(values = {}): Promise<{ id: number; accounts: DepAccounts }> {
  return { id: await fixture.addAccount(values), accounts: fixture.start() };
}

describe('an account that cannot be used', () => {
  it('is refused with 404 when it does not exist, 409 without a token', async () => {
    const accounts = fixture.start();
    await expect(accounts.use(1, fetchPage)).rejects.toMatchObject({ code: 'not_found' });
    const id = await fixture.addAccount({ consumer_key: null });
    await expect(accounts.use(id, fetchPage)).rejects.toMatchObject({
      code: 'no_dep_account',
      status: 409,
    });
    expect(service.connections()).toBe(0);
  });

  it('is one of the lab while the lab is off, or another one while it is on', async () => {
    const { id, accounts } = await used(OF_LAB);
    expect((await failureOf(accounts.use(id, fetchPage))).kind).toBe('lab_off');
    expect(await fixture.status(id)).toMatchObject({
      status: 'lab_off',
      status_text: 'the token is of the lab, which is off',
      status_advice: expect.stringContaining('Start the server with LAB=on to use this account'),
    });
    const real = await fixture.addAccount();
    const lab = fixture.start({ isLabOn: true });
    expect((await failureOf(lab.use(real, fetchPage))).kind).toBe('lab_off');
    expect(await fixture.status(real)).toMatchObject({
      status_text: "the lab is on, and the token is Apple's: no request is sent",
      status_advice: expect.stringContaining('Start the server with LAB=off to use this account.'),
    });
    service.answer(() => PAGE);
    await lab.use(id, fetchPage);
    expect((await fixture.status(id)).status).toBe('ok');
    expect(service.seen).toHaveLength(2);
  });

  it('is one whose token has expired; Apple is not called', async () => {
    const { id, accounts } = await used({ access_token_expiry: new Date(NOW) });
    const error = await failureOf(accounts.use(id, fetchPage));
    expect(error).toMatchObject({ kind: 'token_expired', status: undefined });
    expect(await fixture.status(id)).toMatchObject({
      status: 'token_expired',
      status_text: 'the token has expired at 2026-11-22T10:00:00.000Z',
    });
    expect(service.seen).toEqual([]);
  });

  it.each([
    'http://192.0.2.1',
    'ftp://localhost',
    'localhost',
    'https://localhost/?a=b',
    'https://localhost/?',
    'https://me:secret@localhost',
  ])('is one whose url is %s', async (url) => {
    const { id, accounts } = await used({ url });
    expect((await failureOf(accounts.use(id, fetchPage))).kind).toBe('unreachable');
  });
});

describe('a call', () => {
  it('has the form that Apple documents, after a login', async () => {
    const { id, accounts } = await used();
    service.answer(() => PAGE);
    const page = await accounts.use(id, (api, account) => {
      expect(account).toEqual({ id, consumerKey: 'CK_1' });
      return api.syncDevices({ cursor: 'c1', limit: 500 });
    });
    const end = { cursor: 'c2', moreToFollow: false, fetchedUntil: null };
    expect(page).toEqual({ devices: [], skipped: 0, ...end });
    const [login, call] = service.seen;
    const host = new URL(service.host).host;
    const headers = {
      host,
      'user-agent': 'Muster/1.2.3',
      'x-server-protocol-version': '10',
      'content-type': 'application/json;charset=UTF8',
      connection: 'keep-alive',
    };
    expect(login).toEqual({
      method: 'GET',
      path: '/session',
      body: undefined,
      headers: { ...headers, authorization: login?.headers.authorization },
    });
    expect(login?.headers.authorization).toMatch(/^OAuth realm="ADM", oauth_consumer_key="CK_1", /);
    expect(call).toEqual({
      method: 'POST',
      path: '/devices/sync',
      body: { cursor: 'c1', limit: 500 },
      headers: { ...headers, 'content-length': '27', 'x-adm-auth-session': 'session-1' },
    });
    expect(service.connections()).toBe(1);
  });

  it('has the body that Apple documents for each kind', async () => {
    const { id, accounts } = await used();
    const words = { profile_uuid: UUID, response_status: 'SUCCESS', server_name: 'Muster' };
    const results = { devices: { C1: 'SUCCESS' }, ...words };
    service.answer(({ path }) => (path === '/server/devices' ? PAGE : { body: results }));
    await accounts.use(id, async (api) => {
      await api.account();
      await api.fetchDevices({ cursor: null, limit: 100 });
      await api.fetchDevices({ cursor: 'c', limit: 100 });
      expect(await api.defineProfile({ profile_name: 'One' })).toBe(UUID);
      expect(await api.assignProfile(UUID, ['C1'])).toEqual(new Map([['C1', 'SUCCESS']]));
      await api.removeProfiles(['C1']);
      await api.disown(['C1']);
      const lock = { serialNumber: 'C1', escrowKey: 'ab', lostMessage: 'Lost' };
      expect(await api.enableActivationLock(lock)).toEqual(new Map([['C1', 'SUCCESS']]));
      await api.enableActivationLock({ serialNumber: 'C2' });
      expect(await api.assignProfile(UUID, [])).toEqual(new Map());
    });
    expect(service.seen.slice(1).map(({ method, path, body }) => [method, path, body])).toEqual([
      ['GET', '/account', undefined],
      ['POST', '/server/devices', { limit: 100 }],
      ['POST', '/server/devices', { limit: 100, cursor: 'c' }],
      ['POST', '/profile', { profile_name: 'One' }],
      [
        'POST',
        '/profile/devices',
        { profile_uuid: 'C1F123098EB5074580041E69883004C3', devices: ['C1'] },
      ],
      ['DELETE', '/profile/devices', { devices: ['C1'] }],
      ['POST', '/devices/disown', { devices: ['C1'] }],
      ['POST', '/device/activationlock', { device: 'C1', escrow_key: 'ab', lost_message: 'Lost' }],
      ['POST', '/device/activationlock', { device: 'C2' }],
    ]);
  });

  it('accepts no more serial numbers than Apple does', async () => {
    const { id, accounts } = await used();
    const serials = Array.from({ length: 1001 }, (_, index) => `C${index}`);
    await expect(accounts.use(id, (api) => api.disown(serials))).rejects.toThrow(RangeError);
    expect(service.seen).toEqual([]);
  });

  it('is sent to the service that the account names', async () => {
    const { id, accounts } = await used({ url: `${service.host}/base/` });
    service.answer((request) =>
      request.path === '/base/session' ? { body: { auth_session_token: 'other' } } : PAGE,
    );
    await accounts.use(id, fetchPage);
    expect(service.paths()).toEqual(['GET /base/session', 'POST /base/server/devices']);
  });

  it('ends when it is aborted, and leaves the status of the account unchanged', async () => {
    const { id, accounts } = await used();
    const reason = new Error('enough');
    const controller = new AbortController();
    service.answer(() => {
      controller.abort(reason);
      return undefined;
    });
    const { signal } = controller;
    await expect(accounts.use(id, fetchPage, { signal })).rejects.toBe(reason);
    await expect(accounts.use(id, fetchPage, { signal })).rejects.toBe(reason);
    expect((await fixture.status(id)).status).toBe('ok');
  });

  it('ends when the server stops', async () => {
    const id = await fixture.addAccount();
    const accounts = fixture.start();
    service.answerLogin(() => {
      accounts.close();
      return undefined;
    });
    await expect(accounts.use(id, fetchPage)).rejects.toThrow('the server stops');
    expect((await fixture.status(id)).status).toBe('ok');
  });
});
