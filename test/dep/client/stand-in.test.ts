import type { DepAccounts } from '../../../src/dep/client/dep-api.js';
import { type DepStandIn, startDepStandIn } from '../../../src/lab/dep/dep-stand-in.js';
import { createLabAuthority } from '../../../src/lab/pki/lab-authority.js';
import { type AccountFixture, startAccountFixture } from './account-fixture.js';

const SERVER = 'Client';

let fixture: AccountFixture;
let apple: DepStandIn;

beforeAll(async () => {
  fixture = await startAccountFixture();
  apple = await startDepStandIn({ authority: await createLabAuthority() });
});
afterEach(() => fixture.reset());
afterAll(async () => {
  await fixture.stop();
  await apple.close();
});

/** The stand-in looks at the time. */
function start(ahead = 0): DepAccounts {
  const clock = { now: () => Date.now() + ahead, wait: () => Promise.resolve() };
  return fixture.start({ host: apple.url, ca: apple.caPem, isLabOn: true, clock });
}

function newToken() {
  const { consumer_key, consumer_secret, access_token, access_secret } = apple.portal.issueToken({
    server: SERVER,
  });
  return { consumer_key, consumer_secret, access_token, access_secret };
}

describe("the client with the lab's stand-in", () => {
  it('makes every call, and reads every answer', async () => {
    const serials = apple.portal.addDevices(SERVER, { family: 'Mac', count: 3 });
    const [first = '', second = ''] = serials;
    const id = await fixture.addAccount(newToken());
    await start().use(id, async (api) => {
      expect((await api.account()).serverName).toBe(SERVER);
      const uuid = await api.defineProfile({ profile_name: 'One', url: 'https://mdm.example/dep' });
      const success = new Map(serials.map((serial) => [serial, 'SUCCESS']));
      expect(await api.assignProfile(uuid, serials)).toEqual(success);
      expect(await api.removeProfiles([second])).toEqual(new Map([[second, 'SUCCESS']]));
      const page = await api.fetchDevices({ cursor: null, limit: 2 });
      expect([page.moreToFollow, page.devices.length]).toEqual([true, 2]);
      const rest = await api.fetchDevices({ cursor: page.cursor, limit: 1000 });
      expect(rest.moreToFollow).toBe(false);
      const profiles = [...page.devices, ...rest.devices].map(
        ({ serialNumber, profileUuid }) => [serialNumber, profileUuid] as const,
      );
      expect(new Map(profiles).get(first)).toBe(uuid);
      expect(new Map(profiles).get(second)).toBeNull();
      expect(await api.disown([first, 'C0'])).toEqual(
        new Map([
          [first, 'SUCCESS'],
          ['C0', 'NOT_ACCESSIBLE'],
        ]),
      );
      const changes = await api.syncDevices({ cursor: rest.cursor ?? '', limit: 1000 });
      expect(changes.devices).toMatchObject([{ serialNumber: first, opType: 'deleted' }]);
      const lock = await api.enableActivationLock({
        serialNumber: second,
        escrowKey: 'ab'.repeat(32),
      });
      expect([...lock.keys()]).toEqual([second]);
    });
    expect((await fixture.status(id)).status).toBe('ok');
  });

  it('continues when a session ends between any two calls', async () => {
    const id = await fixture.addAccount(newToken());
    apple.resetRequests();
    await start().use(id, async (api) => {
      for (const how of [401, 403, undefined] as const) {
        await api.account();
        if (how !== undefined) apple.expireSessions(how);
      }
    });
    expect(apple.requests()).toEqual({
      'GET /session': { 200: 3 },
      'GET /account': { 200: 3, 401: 1, 403: 1 },
    });
    expect((await fixture.status(id)).status).toBe('ok');
  });

  it('is refused with a replaced token, and with a wrong clock', async () => {
    const id = await fixture.addAccount(newToken());
    const accounts = start();
    const ask = (of: DepAccounts) => of.use(id, (api) => api.account());
    await ask(accounts);
    const next = newToken();
    await expect(ask(accounts)).rejects.toMatchObject({ kind: 'token_rejected' });
    await fixture.changeAccount(id, next);
    await ask(accounts);
    await expect(ask(start(-3_600_000))).rejects.toMatchObject({
      kind: 'token_rejected',
      // The service sends the time in seconds.
      message: expect.stringMatching(
        /^the clock of this server is (3599|36\d\d) s behind Apple's$/,
      ) as string,
    });
  });
});
