import type { RequestListener } from 'node:http';
import { publicClockCheck } from '../../../src/doctor/checks/clock.js';
import { publicAddressCheck, sameServerCheck } from '../../../src/doctor/checks/public-address.js';
import { startApp, type TestApp } from '../../helpers/app.js';
import { freePort } from '../../helpers/process.js';
import { brief, closeServers, examine, listenWith, READY } from '../doctor-helpers.js';

afterEach(closeServers);

const checks = [publicAddressCheck];

async function examineAt(listener: RequestListener) {
  const port = await listenWith(listener);
  const findings = await examine({ checks, env: { PUBLIC_URL: `http://127.0.0.1:${port}` } });
  return findings.filter(({ code }) => code !== 'public_address_plain_http');
}

const answer =
  (status: number, body: string, headers: Record<string, string> = {}): RequestListener =>
  (_req, res) => {
    res.writeHead(status, headers).end(body);
  };

describe('the public address', () => {
  it('is ok when /readyz answers 200', async () => {
    expect(brief(await examineAt(answer(200, READY)))).toEqual(['ok public_address']);
  });

  it('is reported with the checks and the reasons where /readyz answers 503', async () => {
    const report = { checks: { writes: 'failed', database: 'ok' }, reasons: { writes: 'Full' } };
    const body = JSON.stringify({ status: 'not ready', ...report });
    const [finding] = await examineAt(answer(503, body));
    expect(finding).toMatchObject({ code: 'public_address_not_ready', severity: 'error' });
    expect(finding?.what).toMatch(/\/readyz answers 503: writes\. Full\.$/);
  });

  it.each([
    ['another program', answer(200, '<html>'), /something else than Muster: 200\.$/],
    [
      'a redirect',
      answer(301, '', { Location: 'https://www.example.com/' }),
      /: 301 with a redirect to https:\/\/www\.example\.com\/\.$/,
    ],
    ['an error page of a proxy', answer(502, 'Bad gateway'), /: 502\.$/],
  ])('is reported where %s answers', async (_what, listener, said) => {
    const [finding] = await examineAt(listener);
    expect(brief(finding ? [finding] : [])).toEqual(['error public_address_not_muster']);
    expect(finding?.what).toMatch(said);
  });

  it('is reported where nobody listens, and where the name does not exist', async () => {
    const closed = { PUBLIC_URL: `https://127.0.0.1:${await freePort()}` };
    expect(brief(await examine({ checks, env: closed }))).toEqual([
      'error public_address_unreachable',
    ]);
    const unknown = { PUBLIC_URL: 'https://mdm.invalid' };
    const [finding] = await examine({ checks, env: unknown });
    expect(finding).toMatchObject({ code: 'public_address_unresolved', severity: 'error' });
  });

  it('is a warning over plain HTTP on this machine, and an error on others', async () => {
    const local = await examine({ checks, env: { PUBLIC_URL: 'http://localhost:1' } });
    expect(brief(local)).toContain('warning public_address_plain_http');
    const other = await examine({ checks, env: { PUBLIC_URL: 'http://mdm.invalid' } });
    expect(brief(other)).toContain('error public_address_plain_http');
  });

  it('has its clock compared with the one here', async () => {
    const atTime = async (offsetMs: number) => {
      const date = new Date(Date.now() + offsetMs).toUTCString();
      const port = await listenWith(answer(200, READY, { Date: date }));
      const env = { PUBLIC_URL: `http://127.0.0.1:${port}` };
      return await examine({ checks: [publicClockCheck], env });
    };
    expect(brief(await atTime(0))).toEqual(['ok clock_public_address']);
    expect(brief(await atTime(30_000))).toEqual(['warning clock_differs_from_public_address']);
    const [late] = await atTime(-3_600_000);
    expect(late?.severity).toBe('error');
    expect(late?.what).toMatch(/ is (3600|3599|3601) s behind this one\.$/);
  });
});

describe('the server at the public address', () => {
  it('is not identified when another program answers there', async () => {
    const port = await listenWith(answer(200, '<html>'));
    const env = { PUBLIC_URL: `http://127.0.0.1:${port}` };
    const both = [publicAddressCheck, sameServerCheck];
    const findings = await examine({ checks: both, env, db: one.db });
    expect(brief(findings.filter(({ severity }) => severity === 'error'))).toEqual([
      'error public_address_not_muster',
    ]);
  });

  let one: TestApp;
  let other: TestApp;
  beforeAll(async () => {
    [one, other] = await Promise.all([
      startApp({ isSweeping: false }),
      startApp({ isSweeping: false }),
    ]);
    // Both have the prepared CA of the tests; the other one makes its own.
    await other.db.knex('certificates').where({ purpose: 'mdm.cacert' }).delete();
  });
  afterAll(() => Promise.all([one.stop(), other.stop()]));

  it('is this server when its CA is in this database, and another one otherwise', async () => {
    const at = (db: TestApp['db']) =>
      examine({ checks: [sameServerCheck], env: { PUBLIC_URL: one.url }, db });
    expect(brief(await at(one.db))).toEqual(['ok same_server']);
    expect(brief(await at(other.db))).toEqual(['error public_address_other_server']);
  });
});
