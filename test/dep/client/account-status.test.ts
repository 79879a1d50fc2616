import type { DepAccounts, DepApi } from '../../../src/dep/client/dep-api.js';
import type { DepError } from '../../../src/dep/client/dep-error.js';
import { type AccountFixture, startAccountFixture } from './account-fixture.js';
import { type DepService, type GivenAnswer, inTurn } from './dep-service.js';

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

/** The kinds of what went wrong in one call after another. */
async function kindsOf(accounts: DepAccounts, id: number, answers: GivenAnswer[]) {
  const kinds: (string | undefined)[] = [];
  for (const answer of answers) {
    service.answer(() => answer);
    kinds.push(
      await accounts.use(id, fetchPage).then(
        () => undefined,
        ({ kind }: DepError) => kind,
      ),
    );
  }
  return kinds;
}

function logged() {
  return fixture.lines.map(({ level, msg, depAccountId, status, detail }) => ({
    level,
    msg,
    depAccountId,
    status,
    detail,
  }));
}

const TERMS = { status: 403, body: '"T_C_NOT_SIGNED"' };
const ERROR = { status: 400, body: 'MALFORMED_REQUEST_BODY' };

describe('the status of an account', () => {
  it("contains Apple's text and the remedy, and is logged in one line", async () => {
    const id = await fixture.addAccount();
    const accounts = fixture.start();
    expect(await kindsOf(accounts, id, [TERMS])).toEqual(['terms_not_signed']);
    const first = await fixture.status(id);
    expect(first).toMatchObject({ status: 'terms_not_signed', status_text: 'T_C_NOT_SIGNED' });
    expect(first.status_advice).toBe(
      'Sign in to Apple Business Manager (business.apple.com) or Apple School Manager ' +
        '(school.apple.com) as an administrator and accept the new terms. Until then Apple ' +
        'answers no other request; afterwards the next sync continues automatically.',
    );
    expect(first.status_at).toBeInstanceOf(Date);

    await kindsOf(accounts, id, [TERMS, TERMS]);
    await kindsOf(fixture.start(), id, [TERMS]);
    expect(await fixture.status(id)).toEqual(first);
    const line = { msg: 'DEP account status changed', depAccountId: id };
    const warning = { ...line, level: 40, status: 'terms_not_signed', detail: 'T_C_NOT_SIGNED' };
    expect(logged()).toEqual([warning]);

    expect(await kindsOf(accounts, id, [PAGE, PAGE])).toEqual([undefined, undefined]);
    expect(await fixture.status(id)).toEqual({
      status: 'ok',
      status_text: null,
      status_advice: null,
      status_at: (await fixture.status(id)).status_at,
    });
    expect(logged()).toEqual([warning, { ...line, level: 30, status: 'ok', detail: undefined }]);
  });

  it('is confirmed by the first success', async () => {
    const id = await fixture.addAccount({ status: 'unconfirmed' });
    await kindsOf(fixture.start(), id, [PAGE]);
    expect((await fixture.status(id)).status).toBe('ok');
  });

  it('is ok again at the first success of the work under way', async () => {
    const id = await fixture.addAccount();
    const accounts = fixture.start();
    service.answer(inTurn(PAGE, TERMS, PAGE));
    await accounts.use(id, async (api) => {
      await fetchPage(api);
      await fetchPage(api).catch(() => undefined);
      expect((await fixture.status(id)).status).toBe('terms_not_signed');
      await fetchPage(api);
    });
    expect((await fixture.status(id)).status).toBe('ok');
  });

  it('is not changed by errors about devices, profiles and cursors', async () => {
    const id = await fixture.addAccount();
    const answers = ['EXPIRED_CURSOR', 'EXHAUSTED_CURSOR', 'PROFILE_NOT_FOUND', 'FLAGS_INVALID'];
    const kinds = await kindsOf(
      fixture.start(),
      id,
      answers.map((body) => ({ status: 400, body })),
    );
    expect(kinds).toEqual(['cursor_lost', 'cursor_exhausted', 'profile_not_found', 'refused']);
    expect(await fixture.status(id)).toEqual({
      status: 'ok',
      status_text: null,
      status_advice: null,
      status_at: null,
    });
    expect(logged()).toEqual([]);
  });

  it('is error when Apple refuses a request that only identifies its sender', async () => {
    const id = await fixture.addAccount({ status: 'unconfirmed' });
    const accounts = fixture.start();
    service.answer(() => ERROR);
    await expect(accounts.use(id, (api) => api.account())).rejects.toMatchObject({
      kind: 'refused',
    });
    expect(await fixture.status(id)).toMatchObject({
      status: 'error',
      status_text: 'MALFORMED_REQUEST_BODY',
      status_advice: expect.stringContaining('Update this server') as string,
    });
    await kindsOf(accounts, id, [PAGE, { status: 400, body: 'USER_AGENT_INVALID' }]);
    expect(await fixture.status(id)).toMatchObject({
      status: 'error',
      status_text: 'USER_AGENT_INVALID',
    });
  });

  it.each([
    ['token_rejected', { status: 401, body: 'oauth_problem=signature_invalid' }, 'stoken/upload'],
    ['token_expired', { status: 401, body: 'oauth_problem=token_expired' }, 'stoken/upload'],
    ['terms_not_signed', TERMS, 'accept the new terms'],
    ['throttled', { status: 429, headers: { 'Retry-After': '600' } }, 'DEP_SYNC_INTERVAL'],
    ['unreachable', { status: 403, body: '<html>' }, 'firewall'],
  ])('is %s after a login that failed like this', async (status, answer: GivenAnswer, advice) => {
    const id = await fixture.addAccount();
    service.answerLogin(() => answer);
    await fixture
      .start()
      .use(id, fetchPage)
      .catch(() => undefined);
    expect(await fixture.status(id)).toMatchObject({
      status,
      status_advice: expect.stringContaining(advice) as string,
    });
    expect(service.paths()).toEqual(['GET /session']);
  });

  it('names a clock that is wrong', async () => {
    const id = await fixture.addAccount();
    const headers = { Date: 'Sun, 22 Nov 2026 09:00:00 GMT' };
    service.answerLogin(() => ({ status: 401, headers, body: 'oauth_problem=timestamp_refused' }));
    await fixture
      .start()
      .use(id, fetchPage)
      .catch(() => undefined);
    expect(await fixture.status(id)).toMatchObject({
      status: 'token_rejected',
      status_text: 'oauth_problem=timestamp_refused',
      status_advice:
        "The clock of this server is 3600 s ahead of Apple's. Correct it, best by NTP; then sync again.",
    });
  });

  it('holds no secret, and neither does the log', async () => {
    const id = await fixture.addAccount();
    service.answerLogin(() => ({ status: 401, body: 'token_rejected' }));
    await kindsOf(fixture.start(), id, [PAGE]);
    const text = JSON.stringify([fixture.lines, await fixture.status(id)]);
    expect(text).not.toMatch(/CS_1|session-\d|oauth_signature/);
  });
});

describe('a service that is busy', () => {
  it('is called again after the time that it names', async () => {
    const id = await fixture.addAccount();
    const wait = (seconds: string, status = 429) => ({
      status,
      headers: { 'Retry-After': seconds },
    });
    service.answer(inTurn(wait('3'), wait('0', 503), wait('Sun, 22 Nov 2026 10:00:14 GMT'), PAGE));
    await fixture.start().use(id, fetchPage);
    expect(fixture.clock.waits).toEqual([3_000, 1_000, 10_000]);
    expect((await fixture.status(id)).status).toBe('ok');
  });

  it('is called again after growing pauses when it names no time, a limited number of times', async () => {
    const id = await fixture.addAccount();
    service.answer(() => ({ status: 429 }));
    const error = await fixture
      .start()
      .use(id, fetchPage)
      .catch((reason: unknown) => reason);
    const waited = fixture.clock.waits.reduce((sum, wait) => sum + wait, 0);
    expect(error).toMatchObject({
      kind: 'throttled',
      retryAt: new Date(fixture.clock.now() + 60_000),
    });
    expect(waited).toBeLessThanOrEqual(30_000);
    const [first = 0, second = 0, third = 0, fourth = 0] = fixture.clock.waits;
    for (const [wait, most] of [
      [first, 1_000],
      [second, 2_000],
      [third, 4_000],
      [fourth, 8_000],
    ]) {
      expect(wait).toBeLessThanOrEqual(most ?? 0);
      expect(wait).toBeGreaterThanOrEqual((most ?? 0) / 2);
    }
    expect(service.seen).toHaveLength(fixture.clock.waits.length + 2);
  });

  it('is not called again when it asks for more than the longest wait', async () => {
    const id = await fixture.addAccount();
    service.answer(() => ({ status: 429, headers: { 'Retry-After': '31' }, body: 'SLOW_DOWN' }));
    const error = await fixture
      .start()
      .use(id, fetchPage)
      .catch((reason: unknown) => reason);
    const retryAt = new Date(fixture.clock.now() + 31_000);
    expect(error).toMatchObject({ kind: 'throttled', text: 'SLOW_DOWN', retryAt });
    expect(fixture.clock.waits).toEqual([]);
  });

  it('cannot hold a call without end by asking for a pause of nothing', async () => {
    const id = await fixture.addAccount();
    service.answer(() => ({ status: 503, headers: { 'Retry-After': '0' } }));
    const error = await fixture
      .start()
      .use(id, fetchPage)
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ kind: 'unreachable', status: 503 });
    expect(fixture.clock.waits).toEqual(Array.from({ length: 30 }, () => 1_000));
  });

  it('is called three times when it fails', async () => {
    const id = await fixture.addAccount();
    expect(await kindsOf(fixture.start(), id, [{ status: 500, body: 'INTERNAL' }])).toEqual([
      'unreachable',
    ]);
    expect(service.seen).toHaveLength(4);
    service.answer(inTurn({ status: 502 }, { status: 504 }, PAGE));
    await fixture.start().use(id, fetchPage);
  });

  it('is never asked twice to disown, unless it has refused', async () => {
    const id = await fixture.addAccount();
    const accounts = fixture.start();
    const disown = () => accounts.use(id, (api) => api.disown(['C1'])).catch(() => undefined);
    for (const status of [500, 502, 503]) {
      service.answer(() => ({ status }));
      await disown();
    }
    expect(service.paths().filter((path) => path === 'POST /devices/disown')).toHaveLength(3);
    const results = { body: { devices: { C1: 'SUCCESS' } } };
    service.answer(inTurn({ status: 429 }, { status: 401 }, results));
    expect(await disown()).toEqual(new Map([['C1', 'SUCCESS']]));
  });
});
