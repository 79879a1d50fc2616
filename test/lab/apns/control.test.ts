import { once } from 'node:events';
import { request } from 'node:http';
import type { ClientHttp2Session } from 'node:http2';
import { type StandInUnderTest, startUnderTest, TOKEN, until } from './stand-in-under-test.js';

const OTHER = 'cd'.repeat(32);

let lab: StandInUnderTest;

beforeAll(async () => {
  lab = await startUnderTest();
});

afterAll(async () => {
  await lab.stop();
});

afterEach(() => {
  lab.standIn.clearAnswers();
  lab.standIn.refuseConnections(null);
});

async function control(method: string, path: string, body?: unknown) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const response = await fetch(new URL(path, lab.standIn.controlUrl), {
    method,
    body: text ?? null,
  });
  return { status: response.status, text: await response.text() };
}

/** With headers that fetch does not let one set. */
async function statusWith(headers: Record<string, string>): Promise<number | undefined> {
  const sent = request(new URL('/lab/pushes', lab.standIn.controlUrl), { headers });
  sent.end();
  const [response] = await once(sent, 'response');
  response.resume();
  return response.statusCode;
}

function failureOf(session: ClientHttp2Session): Promise<unknown> {
  return new Promise((resolve) => session.once('error', resolve));
}

describe('the control of the stand-in refuses', () => {
  it.each([
    ['an unknown path', 'GET', '/', undefined, 404],
    ['an unknown method', 'PUT', '/lab/answers', {}, 405],
    ['what is no JSON', 'POST', '/lab/answers', '{', 400],
    ['an answer for nobody', 'POST', '/lab/answers', { status: 410 }, 400],
    ['an unknown member', 'POST', '/lab/answers', { all: true, state: 410 }, 400],
    ['a status that is none', 'POST', '/lab/answers', { all: true, status: 42 }, 400],
    ['a token that is none', 'POST', '/lab/answers', { token: 'x', status: 410 }, 400],
    ['a body of more than 64 KB', 'POST', '/lab/answers', 'x'.repeat(65_537), 413],
    ['an unknown way to refuse', 'POST', '/lab/connections', { refuse: 'slowly' }, 400],
    ['a token never seen', 'GET', `/lab/pushes?token=${'99'.repeat(32)}`, undefined, 404],
  ])('%s', async (_what, method, path, body, status) => {
    expect((await control(method, path, body)).status).toBe(status);
    expect(lab.standIn.answers()).toEqual([]);
  });

  it('pages in a browser, by their Origin or a name that is not of this machine', async () => {
    expect(await statusWith({ Origin: 'http://localhost:8080' })).toBe(403);
    expect(await statusWith({ Host: 'lab.example.com' })).toBe(403);
    expect(await statusWith({ Host: 'localhost:1' })).toBe(200);
  });
});

describe('the answer of a rule', () => {
  it.each([
    [
      { status: 410, timestamp: 1_700_000_000_000 },
      410,
      { reason: 'Unregistered', timestamp: 1_700_000_000_000 },
    ],
    [{ status: 400 }, 400, { reason: 'BadDeviceToken' }],
    [
      { status: 403, reason: 'BadCertificateEnvironment' },
      403,
      { reason: 'BadCertificateEnvironment' },
    ],
    [{ status: 500 }, 500, { reason: 'InternalServerError' }],
    [{ status: 503 }, 503, { reason: 'ServiceUnavailable' }],
  ])('is given as it was ordered: %j', async (ordered, status, body) => {
    expect((await control('POST', '/lab/answers', { all: true, ...ordered })).status).toBe(201);
    const answer = await lab.push();
    expect([answer.status, answer.body]).toEqual([status, body]);
  });

  it('of 410 carries the present moment by default', async () => {
    const before = Date.now();
    await control('POST', '/lab/answers', { all: true, status: 410 });
    const { body } = await lab.push();
    const { reason, timestamp } = body as { reason: string; timestamp: number };
    expect(reason).toBe('Unregistered');
    expect(timestamp).toBeGreaterThanOrEqual(before);
    expect(timestamp).toBeLessThanOrEqual(Date.now());
  });

  it('carries Retry-After', async () => {
    await control('POST', '/lab/answers', { all: true, status: 429, retry_after: 7 });
    const { status, body, headers } = await lab.push();
    expect([status, body, headers['retry-after']]).toEqual([
      429,
      { reason: 'TooManyRequests' },
      '7',
    ]);
  });

  it('is used `times` times, the oldest rule first', async () => {
    await control('POST', '/lab/answers', { all: true, status: 429, times: 2 });
    await control('POST', '/lab/answers', { all: true, status: 503, times: 1 });
    const statuses: number[] = [];
    for (let push = 0; push < 4; push += 1) statuses.push((await lab.push()).status);
    expect(statuses).toEqual([429, 429, 503, 200]);
  });

  it('applies to one token, or one topic', async () => {
    await control('POST', '/lab/answers', { token: TOKEN.toUpperCase(), status: 410 });
    await control('POST', '/lab/answers', { topic: 'com.apple.mgmt.External.x', status: 503 });
    expect((await lab.push()).status).toBe(410);
    expect((await lab.push({ ':path': `/3/device/${OTHER}` })).status).toBe(200);
    await control('POST', '/lab/answers', { topic: lab.topic, status: 503 });
    expect((await lab.push({ ':path': `/3/device/${OTHER}` })).status).toBe(503);
  });

  it('applies until all rules are deleted', async () => {
    await control('POST', '/lab/answers', { all: true, status: 503 });
    expect((await lab.push()).status).toBe(503);
    expect((await control('DELETE', '/lab/answers')).status).toBe(204);
    expect((await lab.push()).status).toBe(200);
  });

  it('does not replace the refusal of an invalid push', async () => {
    await control('POST', '/lab/answers', { all: true, status: 503 });
    expect((await lab.push({ 'apns-priority': '7' })).status).toBe(400);
  });

  it('is delayed by delay_ms, and accepts the push with status 200', async () => {
    lab.standIn.resetCounters();
    await control('POST', '/lab/answers', { all: true, delay_ms: 300 });
    const start = Date.now();
    expect((await lab.push()).status).toBe(200);
    expect(Date.now() - start).toBeGreaterThanOrEqual(290);
    expect(lab.standIn.token(TOKEN)?.accepted).toBe(1);
  });

  it('is dropped when the pusher has disconnected meanwhile', async () => {
    lab.standIn.addAnswer({ status: 200, delayMs: 60_000 });
    const session = lab.open();
    const { total } = lab.standIn.report();
    const lost = lab.pushOn(session).catch((error: unknown) => error);
    await until(() => lab.standIn.report().total === total + 1);
    session.destroy(new Error('gone'));
    expect(await lost).toBeInstanceOf(Error);
    await until(() => lab.standIn.report().connections < 2);
  });
});

describe('the connections of pushers', () => {
  it('receive GOAWAY with a reason after requests under way are answered', async () => {
    const session = lab.open();
    await lab.pushOn(session);
    lab.standIn.addAnswer({ status: 200, delayMs: 300 });
    const { total } = lab.standIn.report();
    const underWay = lab.pushOn(session);
    await until(() => lab.standIn.report().total === total + 1);
    const goaway = once(session, 'goaway');
    expect((await control('POST', '/lab/connections', { goaway: true })).status).toBe(200);
    const [code, , data] = await goaway;
    expect([code, JSON.parse(String(data))]).toEqual([0, { reason: 'Shutdown' }]);
    expect((await underWay).status).toBe(200);
    await until(() => session.destroyed);
  });

  it('are reset', async () => {
    const session = lab.open();
    await lab.pushOn(session);
    const failed = failureOf(session);
    await control('POST', '/lab/connections', { destroy: true });
    expect(await failed).toMatchObject({ code: 'ECONNRESET' });
    await until(() => lab.standIn.report().connections === 0);
  });

  it('are refused by a TLS alert about the certificate, and accepted again', async () => {
    await control('POST', '/lab/connections', { refuse: 'tls' });
    const error = await failureOf(lab.open());
    expect(error).toMatchObject({ code: 'ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE' });
    await control('POST', '/lab/connections', { refuse: null });
    expect((await lab.pushOn(lab.open())).status).toBe(200);
  });

  it('are refused by a reset', async () => {
    await control('POST', '/lab/connections', { refuse: 'connection' });
    expect(await failureOf(lab.open())).toMatchObject({ code: 'ECONNRESET' });
  });
});

describe('the report of the stand-in', () => {
  it('is shown by token, for all tokens, and in sum', async () => {
    await lab.push();
    await lab.push({ ':path': `/3/device/${OTHER}` });
    expect((await control('DELETE', '/lab/pushes')).status).toBe(204);
    await lab.push();
    const { text } = await control('GET', `/lab/pushes?token=${TOKEN}`);
    expect(JSON.parse(text)).toMatchObject({ token: TOKEN, accepted: 1, has_waiting_push: true });
    const lines = (await control('GET', '/lab/tokens')).text.trim().split('\n');
    const counts = lines
      .map((line) => JSON.parse(line))
      .map(({ token, accepted }) => [token, accepted]);
    expect(counts).toEqual([
      [TOKEN, 1],
      [OTHER, 0],
    ]);
    const sum = JSON.parse((await control('GET', '/lab/pushes')).text);
    expect(sum).toMatchObject({
      total: 1,
      by_status: { 200: 1 },
      tokens: 2,
      waiting: 2,
      replaced: 1,
    });
  });
});
