import { get, type IncomingMessage } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { ADMIN_TOKEN, adminApi, startApp, type TestApp } from '../../helpers/app.js';

interface Raw {
  status: number;
  headers: IncomingMessage['headers'];
  body: Buffer;
}

let app: TestApp;

beforeAll(async () => {
  app = await startApp();
  const tags = Array.from({ length: 30 }, (_, index) => ({ name: `tag ${index}` }));
  await app.db.knex('tags').insert(tags);
});
afterAll(() => app.stop());

/** As it comes over the wire: fetch would decompress it. */
function ask(path: string, encoding?: string, method = 'GET'): Promise<Raw> {
  const headers: Record<string, string> = { Authorization: `Bearer ${ADMIN_TOKEN}` };
  if (encoding !== undefined) headers['Accept-Encoding'] = encoding;
  return new Promise((resolve, reject) => {
    get(`${app.url}${path}`, { headers, method }, async (message) => {
      const chunks: Buffer[] = await message.toArray();
      const { statusCode = 0, headers } = message;
      resolve({ status: statusCode, headers, body: Buffer.concat(chunks) });
    }).on('error', reject);
  });
}

describe('compression', () => {
  it.each([
    ['gzip', gunzipSync],
    ['br', brotliDecompressSync],
  ] as const)('by %s gives the same document', async (encoding, decompress) => {
    const plain = await ask('/api/v1/tags');
    expect(plain.headers['content-encoding']).toBeUndefined();
    expect(plain.headers.vary).toContain('Accept-Encoding');
    const small = await ask('/api/v1/tags', encoding);
    expect(small.headers['content-encoding']).toBe(encoding);
    expect(small.headers.vary).toContain('Accept-Encoding');
    expect(small.body.length).toBeLessThan(plain.body.length / 3);
    expect(decompress(small.body).equals(plain.body)).toBe(true);
  });

  it('is left out when it is not worth it, or not accepted', async () => {
    const item = await ask('/api/v1/tags/1', 'gzip');
    expect([item.status, item.headers['content-encoding']]).toEqual([200, undefined]);
    const refused = await ask('/api/v1/tags', 'gzip;q=0, identity');
    expect(refused.headers['content-encoding']).toBeUndefined();
  });

  it('keeps the ETag of a document, which If-Match then names', async () => {
    const path = '/configuration/organization';
    await adminApi(app).patch(path, { x509_st: 's'.repeat(128), name: '€'.repeat(255) });
    const [plain, small] = [await ask(`/api/v1${path}`), await ask(`/api/v1${path}`, 'gzip')];
    const codings = [plain, small].map(({ headers }) => headers['content-encoding']);
    expect(codings).toEqual([undefined, 'gzip']);
    // RFC 9110 §8.8.3.3: one strong tag must not stand for both.
    expect(small.headers.etag).toMatch(/^W\/"/);
    expect(small.headers.etag).toBe(plain.headers.etag);
    const reply = await adminApi(app)
      .patch(path, {})
      .set('If-Match', small.headers.etag ?? '');
    expect(reply.status).toBe(200);
  });

  it('does not change HEAD and uncompressed GET of a list', async () => {
    const [head, plain] = [
      await ask('/api/v1/tags', 'gzip', 'HEAD'),
      await ask('/api/v1/tags', 'identity'),
    ];
    expect([head.status, head.body.length]).toEqual([200, 0]);
    for (const name of ['content-type', 'content-length', 'vary', 'etag']) {
      expect([name, head.headers[name]]).toEqual([name, plain.headers[name]]);
    }
  });

  it('does not change files and the surfaces of devices', async () => {
    const profile = await ask('/enroll/profile', 'gzip, br');
    expect(profile.headers['content-encoding']).toBeUndefined();
    expect(profile.body.length).toBeGreaterThan(2_000);
  });
});
