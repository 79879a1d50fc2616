import type { ServerResponse } from 'node:http';
import type { DepAccounts, DepApi } from '../../../src/dep/client/dep-api.js';
import { type AccountFixture, failureOf, startAccountFixture } from './account-fixture.js';
import { type DepService, inTurn, type SeenRequest } from './dep-service.js';

let fixture: AccountFixture;
let service: DepService;

beforeAll(async () => {
  fixture = await startAccountFixture();
  service = fixture.service;
});
afterEach(() => fixture.reset());
afterAll(() => fixture.stop());

const PAGE = { body: { devices: [], cursor: 'c2', more_to_follow: false } };

const fetchPage = (api: DepApi) => api.fetchDevices({ cursor: null, limit: 1000 });

function consumerKeyOf({ headers }: SeenRequest): string | undefined {
  return /oauth_consumer_key="([^"]*)"/.exec(headers.authorization ?? '')?.[1];
}

function accessTokenOf({ headers }: SeenRequest): string | undefined {
  return /oauth_token="([^"]*)"/.exec(headers.authorization ?? '')?.[1];
}

async function used(): Promise<{ id: number; accounts: DepAccounts }> {
  return { id: await fixture.addAccount(), accounts: fixture.start() };
}

describe('a session', () => {
  it('is shared by calls at once, after one login, and by those that follow', async () => {
    const { id, accounts } = await used();
    service.answer(() => PAGE);
    await Promise.all([1, 2, 3].map(() => accounts.use(id, fetchPage)));
    await accounts.use(id, fetchPage);
    expect(service.paths().filter((path) => path === 'GET /session')).toHaveLength(1);
    expect(
      new Set(service.seen.slice(1).map(({ headers }) => headers['x-adm-auth-session'])),
    ).toEqual(new Set(['session-1']));
  });

  it('continues with the value of the last answer, unless that cannot be sent in a header', async () => {
    const { id, accounts } = await used();
    const next = (value: string) => ({ ...PAGE, headers: { 'X-ADM-Auth-Session': value } });
    service.answer(inTurn(next('next'), next('not one'), PAGE));
    for (let turn = 0; turn < 4; turn += 1) await accounts.use(id, fetchPage);
    expect(service.seen.slice(1).map(({ headers }) => headers['x-adm-auth-session'])).toEqual([
      'session-1',
      'next',
      'next',
      'next',
    ]);
  });

  it.each([
    { status: 401, body: '' },
    { status: 403, body: '"FORBIDDEN"' },
    { status: 403, body: 'UNAUTHORIZED' },
  ])('is opened again once after the refusal %j, and all calls are repeated', async (refusal) => {
    const { id, accounts } = await used();
    const refused: ServerResponse[] = [];
    service.answer(({ headers }, response) => {
      if (headers['x-adm-auth-session'] !== 'session-1') return PAGE;
      refused.push(response);
      if (refused.length === 2) {
        for (const each of refused) each.writeHead(refusal.status).end(refusal.body);
      }
      return undefined;
    });
    await Promise.all([accounts.use(id, fetchPage), accounts.use(id, fetchPage)]);
    expect(service.paths().filter((path) => path === 'GET /session')).toHaveLength(2);
    expect(service.seen).toHaveLength(6);
    expect((await fixture.status(id)).status).toBe('ok');
  });

  it('is not opened a third time', async () => {
    const { id, accounts } = await used();
    service.answer(() => ({ status: 401, body: 'UNAUTHORIZED' }));
    const error = await failureOf(accounts.use(id, fetchPage));
    expect(error).toMatchObject({ kind: 'token_rejected', status: 401, text: 'UNAUTHORIZED' });
    expect(service.paths()).toEqual([
      'GET /session',
      'POST /server/devices',
      'GET /session',
      'POST /server/devices',
    ]);
  });

  it('is required: an answer without one is a failure', async () => {
    const { id, accounts } = await used();
    service.answerLogin(
      inTurn({ body: '{}' }, { body: { auth_session_token: 'a\nb' } }, { body: 'no' }),
    );
    for (let turn = 0; turn < 3; turn += 1) {
      expect((await failureOf(accounts.use(id, fetchPage))).kind).toBe('unreachable');
    }
    expect(service.paths()).toEqual(['GET /session', 'GET /session', 'GET /session']);
  });

  it('is opened for the other callers when one of them leaves', async () => {
    const { id, accounts } = await used();
    const controller = new AbortController();
    let grant = () => undefined as unknown;
    const asked = new Promise<void>((resolve) => {
      service.answerLogin((_, response) => {
        grant = () => response.end('{"auth_session_token":"late"}');
        resolve();
        return undefined;
      });
    });
    service.answer(() => PAGE);
    const leaving = accounts.use(id, fetchPage, { signal: controller.signal });
    const staying = accounts.use(id, fetchPage);
    await asked;
    controller.abort(new Error('gone'));
    await expect(leaving).rejects.toThrow('gone');
    grant();
    expect((await staying).cursor).toBe('c2');
  });
});

describe('a token that is replaced', () => {
  it('is used at the next call, with a session of its own', async () => {
    const { id, accounts } = await used();
    service.answer(() => PAGE);
    await accounts.use(id, fetchPage);
    await fixture.changeAccount(id, { access_token: 'AT_2', consumer_secret: 'CS_2' });
    await accounts.use(id, fetchPage);
    expect(service.seen.map(accessTokenOf)).toEqual(['AT_1', undefined, 'AT_2', undefined]);
    expect(service.seen[3]?.headers['x-adm-auth-session']).toBe('session-2');
  });

  it('is used within a piece of work once Apple refuses the former', async () => {
    const { id, accounts } = await used();
    service.answer(({ headers }) =>
      headers['x-adm-auth-session'] === 'session-1' ? { status: 401 } : PAGE,
    );
    const page = await accounts.use(id, async (api) => {
      await fixture.changeAccount(id, { access_token: 'AT_2' });
      return await fetchPage(api);
    });
    expect(page.cursor).toBe('c2');
    expect(service.seen.map(accessTokenOf)).toEqual(['AT_1', undefined, 'AT_2', undefined]);
  });

  it('ends work under way for another server, and leaves the status of the account unchanged', async () => {
    const { id, accounts } = await used();
    service.answer(() => ({ status: 401 }));
    const error = await failureOf(
      accounts.use(id, async (api) => {
        await fixture.changeAccount(id, { consumer_key: 'CK_2', status: 'unconfirmed' });
        return await fetchPage(api);
      }),
    );
    expect(error.kind).toBe('token_rejected');
    expect(service.seen.map(consumerKeyOf)).toEqual(['CK_1', undefined]);
    expect(await fixture.status(id)).toMatchObject({ status: 'unconfirmed', status_text: null });
  });

  it('is not blamed for errors of the former token', async () => {
    const { id, accounts } = await used();
    service.answerLogin(() => ({ status: 401, body: 'token_rejected' }));
    await failureOf(
      accounts.use(id, async (api) => {
        await fixture.changeAccount(id, { access_token: 'AT_2', status: 'unconfirmed' });
        return await fetchPage(api);
      }),
    );
    expect((await fixture.status(id)).status).toBe('unconfirmed');
  });

  it('may be the same one with a corrected secret', async () => {
    const { id, accounts } = await used();
    service.answerLogin(inTurn({ status: 401, body: 'signature_invalid' }));
    await failureOf(accounts.use(id, fetchPage));
    await fixture.changeAccount(id, { consumer_secret: 'CS_2' });
    service.answerLogin(undefined);
    service.answer(() => PAGE);
    expect((await accounts.use(id, fetchPage)).cursor).toBe('c2');
    expect((await fixture.status(id)).status).toBe('ok');
  });
});
