import { verify } from 'node:crypto';
import { mutations } from '../../crypto/identities.js';
import {
  type OcspRequestOptions,
  ocspRequest,
  type ReadResponse,
  readOcspResponse,
} from '../../crypto/x509/ocsp-messages.js';
import { adminApi, startApp, type TestApp } from '../../helpers/app.js';
import {
  type Fetched,
  rotateAuthority,
  type StoredIdentity,
  send,
  storedIdentity,
} from './revocation-fixture.js';

const HOUR = 3_600_000;
const MALFORMED = '30030a0101';
const INTERNAL_ERROR = '30030a0102';
const UNAUTHORIZED = '30030a0106';

let app: TestApp;
let good: StoredIdentity;
let revoked: StoredIdentity;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  [good, revoked] = [await storedIdentity(app), await storedIdentity(app)];
  await adminApi(app).post(`/certificates/${revoked.id}/revoke`, { reason: 'keyCompromise' });
});
afterAll(() => app.stop());

const issuer = () => app.container.authorities.current.certificate;

function post(body: Buffer): Promise<Fetched> {
  const headers = { 'Content-Type': 'application/ocsp-request' };
  return send(`${app.url}/ocsp`, { method: 'POST', headers, body });
}

const pathOf = (request: Buffer) => `/ocsp/${encodeURIComponent(request.toString('base64'))}`;

function read({ status, headers, body }: Fetched): ReadResponse {
  expect([status, headers['content-type']]).toEqual([200, 'application/ocsp-response']);
  return readOcspResponse(body);
}

async function ask(options: OcspRequestOptions, of = issuer()): Promise<ReadResponse> {
  const response = read(await post(ocspRequest(of, options)));
  const { data, signature } = response;
  expect(verify('sha256', data, of.publicKey, signature)).toBe(true);
  return response;
}

const refusal = async (request: Buffer) => (await post(request)).body.toString('hex');

describe('OCSP', () => {
  it.each(['sha1', 'sha256'] as const)('answers good, revoked and unknown by %s', async (hash) => {
    const { revoked_at } = await app.db.knex('certificates').where({ id: revoked.id }).first();
    const revokedAt = new Date(Math.floor(revoked_at.getTime() / 1000) * 1000);
    const serials = [good, revoked].map(({ certificate }) => certificate.serialHex);
    const response = await ask({ serials: [...serials, '0badc0de'], hash });
    expect(response.statuses).toEqual(['good', { revokedAt, reason: 1 }, 'unknown']);
    expect(response.nonce).toBeUndefined();
    const { thisUpdate, nextUpdate } = response;
    expect(Math.abs(Date.now() - Number(thisUpdate))).toBeLessThan(10_000);
    expect(Number(nextUpdate) - Number(thisUpdate)).toBe(HOUR);
  });

  it('reads the database once for any number of certificates', async () => {
    const statements: string[] = [];
    const note = ({ sql }: { sql: string }) => statements.push(sql);
    app.db.knex.on('query', note);
    const serials = Array<string>(20).fill(good.certificate.serialHex);
    const { statuses } = await ask({ serials: [...serials.slice(1), '05'] });
    app.db.knex.off('query', note);
    expect(statuses).toEqual([...Array<string>(19).fill('good'), 'unknown']);
    expect(statements).toHaveLength(1);
  });

  it('repeats the nonce, and forbids caching of such an answer', async () => {
    const nonce = Buffer.from('0123456789abcdef', 'hex');
    const request = ocspRequest(issuer(), { serials: [good.certificate.serialHex], nonce });
    const answer = await post(request);
    expect(read(answer).nonce).toEqual(Buffer.concat([Buffer.from([4, nonce.length]), nonce]));
    expect(answer.headers['cache-control']).toBe('no-store');
  });

  it('answers GET with the request in the path, however it is escaped', async () => {
    const request = ocspRequest(issuer(), { serials: [good.certificate.serialHex] });
    const base64 = request.toString('base64');
    for (const path of [
      pathOf(request),
      `/ocsp/${base64}`,
      `/ocsp/${base64.replace('=', '%3d')}`,
    ]) {
      const answer = await send(`${app.url}${path}`);
      expect(read(answer).statuses).toEqual(['good']);
      expect(answer.headers['cache-control']).toBe(
        'public, max-age=300, no-transform, must-revalidate',
      );
    }
    const { status, body } = await send(`${app.url}${pathOf(request)}`, { method: 'HEAD' });
    expect([status, body.length]).toEqual([200, 0]);
  });

  it('refuses other methods', async () => {
    const refused = await send(`${app.url}/ocsp`);
    expect([refused.status, refused.headers.allow]).toEqual([405, 'POST']);
    const path = `${app.url}${pathOf(ocspRequest(issuer()))}`;
    const second = await send(path, { method: 'POST' });
    expect([second.status, second.headers.allow]).toEqual([405, 'GET, HEAD']);
  });

  it('answers malformedRequest to unreadable bytes', async () => {
    const request = ocspRequest(issuer(), { serials: [good.certificate.serialHex] });
    expect(await refusal(Buffer.alloc(0))).toBe(MALFORMED);
    expect(await refusal(request.subarray(0, -1))).toBe(MALFORMED);
    expect(await refusal(Buffer.concat([request, Buffer.alloc(1)]))).toBe(MALFORMED);
    const many = ocspRequest(issuer(), { serials: Array<string>(21).fill('01') });
    expect(await refusal(many)).toBe(MALFORMED);
    const base64 = request.toString('base64');
    for (const path of ['%%%', '%ff', 'x y', 'TWE', `${base64}AAAA`, '..%2f..%2fetc', 'a/b/c']) {
      const { status, body } = await send(`${app.url}/ocsp/${path.replace(' ', '%20')}`);
      expect([path, status, body.toString('hex')]).toEqual([path, 200, MALFORMED]);
    }
  });

  it('reads no more than 8 KiB', async () => {
    const { status, body } = await post(Buffer.alloc(8_193));
    expect([status, body.length]).toEqual([413, 0]);
    expect(await refusal(Buffer.alloc(8_192))).toBe(MALFORMED);
  });

  it('answers unauthorized for certificates of other CAs', async () => {
    const outsider = { ...issuer(), subjectRaw: good.certificate.subjectRaw };
    expect(await refusal(ocspRequest(outsider))).toBe(UNAUTHORIZED);
    expect(await refusal(ocspRequest(issuer(), { hash: 'sha512' }))).toBe(UNAUTHORIZED);
  });

  it('answers good only for certificates that its CA has signed', async () => {
    const { db } = app;
    const columns = await db.knex('certificates').where({ id: good.id }).first();
    const { id: _id, fingerprint_sha256: _sha, ...row } = columns;
    await db.knex('certificates').insert({
      ...row,
      serial: '7777',
      fingerprint: Buffer.alloc(32, 7),
      der: Buffer.from(row.der).fill(0, row.der.length - 20),
    });
    expect((await ask({ serials: ['7777'] })).statuses).toEqual(['unknown']);
  });

  it('answers an OCSP response or an HTTP error to 500 mutations', async () => {
    const serials = [good.certificate.serialHex, revoked.certificate.serialHex];
    const request = ocspRequest(issuer(), { serials, nonce: Buffer.alloc(8, 1) });
    for (const bad of mutations(request, 500)) {
      const answer = await post(bad);
      expect([0, 1, 6]).toContain(read(answer).code);
    }
    expect(app.logText()).not.toContain('could not be answered');
  });

  it('answers for a CA that no longer issues, but not about certificates of its successor', async () => {
    const former = issuer();
    await rotateAuthority(app);
    const later = await storedIdentity(app);
    const serials = [good.certificate.serialHex, later.certificate.serialHex];
    expect((await ask({ serials }, former)).statuses).toEqual(['good', 'unknown']);
    expect((await ask({ serials })).statuses).toEqual(['unknown', 'good']);
  });

  it('answers internalError while the database does not answer', async () => {
    await app.db.knex.raw('alter table certificates rename to elsewhere');
    try {
      expect(await refusal(ocspRequest(issuer()))).toBe(INTERNAL_ERROR);
    } finally {
      await app.db.knex.raw('alter table elsewhere rename to certificates');
    }
    expect(app.logText()).toContain('an ocsp request could not be answered');
  });
});
