import { adminApi, startApp, type TestApp } from '../../helpers/app.js';
import { duringOutage } from '../../helpers/outage.js';
import { isCrlIssuedBy, type ParsedCrl, parseCrl } from '../../helpers/parse-crl.js';
import { rotateAuthority, send, storedIdentity } from './revocation-fixture.js';

const DAY = 86_400_000;

let app: TestApp;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
});
afterAll(() => app.stop());

const listUrl = (keyId = app.container.authorities.current.keyId, url = app.url) =>
  `${url}/crl/${keyId}.crl`;

const revoke = (id: number, body: object = {}, query = '') =>
  adminApi(app).post(`/certificates/${id}/revoke${query}`, body);

async function fetchList(url = listUrl()): Promise<ParsedCrl> {
  const { status, body } = await send(url);
  expect(status).toBe(200);
  return parseCrl(body);
}

function countLists(): { made: number } {
  const count = { made: 0 };
  app.db.knex.on('query', ({ sql }: { sql: string }) => {
    if (sql.includes('declare revoked')) count.made += 1;
  });
  return count;
}

describe('GET /crl/<key id>.crl', () => {
  it('answers 404 for other CAs and other files', async () => {
    const { keyId } = app.container.authorities.current;
    for (const path of [
      '00.crl',
      `${keyId}.cer`,
      `${keyId}`,
      `${keyId.toUpperCase()}.crl`,
      '.crl',
    ]) {
      const { status, body } = await send(`${app.url}/crl/${path}`);
      expect([path, status, body.length]).toEqual([path, 404, 0]);
    }
    expect((await send(`${app.url}/crl/%zz.crl`)).status).toBe(400);
  });

  it('answers 405 to other methods', async () => {
    const { status, headers } = await send(listUrl(), { method: 'POST', body: Buffer.from('x') });
    expect([status, headers.allow]).toEqual([405, 'GET, HEAD']);
  });

  it('is signed by the CA, from the beginning of the hour and for a week', async () => {
    const { status, headers, body } = await send(listUrl());
    expect([status, headers['content-type']]).toEqual([200, 'application/pkix-crl']);
    const crl = parseCrl(body);
    const { certificate } = app.container.authorities.current;
    expect(isCrlIssuedBy(crl, certificate)).toBe(true);
    expect(crl.authorityKeyId).toEqual(certificate.subjectKeyId);
    const age = Date.now() - crl.thisUpdate.getTime();
    expect(age).toBeGreaterThanOrEqual(0);
    expect(age).toBeLessThan(DAY / 24);
    expect(crl.nextUpdate).toEqual(new Date(crl.thisUpdate.getTime() + 7 * DAY));
    expect(headers['last-modified']).toBe(crl.thisUpdate.toUTCString());
    expect(headers['cache-control']).toBe('public, max-age=300');
  });

  it('contains a revocation at once, with time and reason, under a greater number', async () => {
    const before = await fetchList();
    const [first, second, good] = [
      await storedIdentity(app),
      await storedIdentity(app),
      await storedIdentity(app),
    ];
    expect((await revoke(first.id, { reason: 'keyCompromise' })).status).toBe(200);
    expect((await revoke(second.id)).status).toBe(200);
    const crl = await fetchList();
    const { revoked_at } = await app.db.knex('certificates').where({ id: first.id }).first();
    const revokedAt = new Date(Math.floor(revoked_at.getTime() / 1000) * 1000);
    expect(crl.revoked.get(first.certificate.serialHex)).toEqual({
      revokedAt,
      reason: 'keyCompromise',
    });
    expect(crl.revoked.get(second.certificate.serialHex)?.reason).toBe('unspecified');
    expect(crl.revoked.has(good.certificate.serialHex)).toBe(false);
    expect(Buffer.compare(crl.number as Buffer, before.number as Buffer)).toBe(1);
    expect(crl.thisUpdate.getTime()).toBeGreaterThanOrEqual(revokedAt.getTime());
  });

  it('is answered 304 until it has changed', async () => {
    const { headers, body } = await send(listUrl());
    const etag = headers.etag ?? '';
    expect(etag).toMatch(/^W\/"\d+"$/);
    const again = await send(listUrl(), { headers: { 'If-None-Match': etag } });
    expect([again.status, again.body.length, again.headers.etag]).toEqual([304, 0, etag]);
    const since = { 'If-Modified-Since': headers['last-modified'] ?? '' };
    expect((await send(listUrl(), { headers: since })).status).toBe(304);
    const head = await send(listUrl(), { method: 'HEAD' });
    expect([head.status, head.headers['content-length']]).toEqual([200, String(body.length)]);
    await revoke((await storedIdentity(app)).id);
    expect((await send(listUrl(), { headers: { 'If-None-Match': etag } })).status).toBe(200);
  });

  it('is built once for concurrent requests, and cached', async () => {
    await revoke((await storedIdentity(app)).id);
    const count = countLists();
    const bodies = await Promise.all(Array.from({ length: 12 }, () => send(listUrl())));
    bodies.push(await send(listUrl()));
    expect(count.made).toBe(1);
    for (const { body } of bodies) expect(body.equals(bodies[0]?.body as Buffer)).toBe(true);
  });

  it('keeps an entry for a week after the certificate has expired', async () => {
    const [lately, long] = [
      await storedIdentity(app, { not_after: new Date(Date.now() - 6 * DAY) }),
      await storedIdentity(app, { not_after: new Date(Date.now() - 8 * DAY) }),
    ];
    await revoke(lately.id);
    await revoke(long.id);
    const { revoked } = await fetchList();
    expect(revoked.has(lately.certificate.serialHex)).toBe(true);
    expect(revoked.has(long.certificate.serialHex)).toBe(false);
  });

  it('is equal, octet by octet, in every process, and new in each at once', async () => {
    const { database } = app;
    const other = await startApp({ isSweeping: false, database });
    try {
      const url = listUrl(undefined, other.url);
      expect((await send(url)).body.equals((await send(listUrl())).body)).toBe(true);
      const { id, certificate } = await storedIdentity(app);
      await revoke(id);
      expect((await fetchList(url)).revoked.has(certificate.serialHex)).toBe(true);
      expect((await send(url)).body.equals((await send(listUrl())).body)).toBe(true);
    } finally {
      await other.halt();
    }
  });

  it('is the cached one while the database is away, or 503 without one', async () => {
    const { body } = await send(listUrl());
    const former = app.container.authorities.current;
    await rotateAuthority(app);
    await duringOutage(app.database, async () => {
      const kept = await send(listUrl(former.keyId));
      expect([kept.status, kept.body.equals(body)]).toEqual([200, true]);
      const { status, headers } = await send(listUrl());
      expect([status, headers['retry-after']]).toEqual([503, '30']);
    });
    expect((await send(listUrl())).status).toBe(200);
  });

  it('is served for a CA that no longer issues, and for a revoked one', async () => {
    const former = app.container.authorities.current;
    const { id, certificate } = await storedIdentity(app);
    await rotateAuthority(app);
    await revoke(id, { reason: 'superseded' });
    const retired = await fetchList(listUrl(former.keyId));
    expect(isCrlIssuedBy(retired, former.certificate)).toBe(true);
    expect(retired.revoked.get(certificate.serialHex)?.reason).toBe('superseded');
    const current = await fetchList();
    expect(current.revoked.size).toBe(0);
    expect(isCrlIssuedBy(current, former.certificate)).toBe(false);
    expect((await revoke(former.id, { reason: 'cACompromise' })).status).toBe(200);
    const last = await fetchList(listUrl(former.keyId));
    expect(isCrlIssuedBy(last, former.certificate)).toBe(true);
    expect(last.revoked.get(former.certificate.serialHex)?.reason).toBe('cACompromise');
  });
});

describe('GET /ca/<key id>.cer', () => {
  it('is the certificate of each CA made here', async () => {
    for (const { keyId, certificate } of app.container.authorities.all({ revoked: true })) {
      const { status, headers, body } = await send(`${app.url}/ca/${keyId}.cer`);
      expect([status, headers['content-type']]).toEqual([200, 'application/pkix-cert']);
      expect(body.equals(certificate.der)).toBe(true);
      expect(headers['cache-control']).toBe('public, max-age=86400');
      const etag = headers.etag ?? '';
      const again = await send(`${app.url}/ca/${keyId}.cer`, {
        headers: { 'If-None-Match': etag },
      });
      expect(again.status).toBe(304);
    }
  });

  it('answers 404 to other names', async () => {
    const { keyId } = app.container.authorities.current;
    expect((await send(`${app.url}/ca/${keyId}.crl`)).status).toBe(404);
    expect((await send(`${app.url}/ca/00.cer`)).status).toBe(404);
    const { status, headers } = await send(`${app.url}/ca/${keyId}.cer`, { method: 'DELETE' });
    expect([status, headers.allow]).toEqual([405, 'GET, HEAD']);
  });
});
