import { ADMIN_TOKEN, PUBLIC_URL, startApp, type TestApp } from '../../helpers/app.js';

const CONSOLE = 'https://console.example.com';
const EVIL = 'https://evil.example.com';
const BASIC = `Basic ${Buffer.from(`admin:${ADMIN_TOKEN}`).toString('base64')}`;
const BEARER = `Bearer ${ADMIN_TOKEN}`;
const DOCUMENT = 'application/vnd.api+json';

let app: TestApp;
let deviceId: number;

beforeAll(async () => {
  app = await startApp({ env: { CORS_ORIGINS: CONSOLE }, isSweeping: false });
  const [row] = await app.db.knex('devices').insert({ serial_number: 'XSITE1' }).returning('id');
  deviceId = row.id;
});
afterAll(() => app.stop());

type Headers = Record<string, string>;

function ask(method: string, path: string, headers: Headers, body?: string) {
  const init = { method, headers: { Authorization: BASIC, ...headers } };
  return fetch(`${app.url}${path}`, body === undefined ? init : { ...init, body });
}

function createTag(headers: Headers) {
  const attributes = { name: `tag ${Math.random()}` };
  const body = JSON.stringify({ data: { type: 'tags', attributes } });
  return ask('POST', '/api/v1/tags', { 'Content-Type': DOCUMENT, ...headers }, body);
}

async function faultOf(response: Response): Promise<unknown[]> {
  const { errors } = (await response.json()) as { errors: { code: string; detail: string }[] };
  return [response.status, ...errors.flatMap(({ code, detail }) => [code, detail])];
}

async function countOf(table: string): Promise<number> {
  const [row] = await app.db.knex(table).count({ count: '*' });
  return Number(row?.count);
}

const REFUSED = [
  403,
  'forbidden',
  'a page of another site asked your browser for this: ' +
    "open it from this server's own pages, or use a program with a Bearer token",
];

describe('a request by a page of another site, with the password that the browser has stored,', () => {
  it.each([
    ['a link to the certificate for the portal', 'GET', '/dep/certificate/download'],
    ['a form to the upload of a token', 'POST', '/dep/stoken/upload'],
    ['a form to the upload of a profile', 'POST', '/api/v1/upload/profiles'],
    ['a link that clears a passcode', 'GET', '/api/v1/devices/ID/clear_passcode'],
    ['a link that queues the inventory', 'GET', '/api/v1/devices/inventory/ID'],
    ['a form that queues it', 'POST', '/api/v1/devices/inventory/ID'],
    ['a deletion', 'DELETE', '/api/v1/devices/ID'],
  ])('changes nothing by %s', async (_, method, pattern) => {
    const before = [await countOf('commands'), await countOf('certificates')];
    const path = pattern.replace('ID', String(deviceId));
    for (const site of ['cross-site', 'same-site', 'other']) {
      expect(await faultOf(await ask(method, path, { 'Sec-Fetch-Site': site }))).toEqual(REFUSED);
    }
    expect([await countOf('commands'), await countOf('certificates')]).toEqual(before);
    expect(await countOf('devices')).toBe(1);
  });

  it.each([
    ['in an older browser', { Origin: EVIL }],
    ['that has no origin', { Origin: 'null' }],
    ['whose name begins as ours', { Origin: `${PUBLIC_URL}.evil.example.com` }],
    ['on another port of ours', { Origin: 'http://127.0.0.1:1' }],
    ['that says it in another case', { 'Sec-Fetch-Site': 'Same-Origin', Origin: EVIL }],
    ['of our domain', { 'Sec-Fetch-Site': 'same-site', Origin: 'https://other.example.com' }],
  ])('%s creates nothing', async (_, headers) => {
    expect(await faultOf(await createTag(headers))).toEqual(REFUSED);
  });

  it('is refused whatever the case of Basic', async () => {
    const headers = { Authorization: BASIC.replace('Basic', 'bAsIc'), Origin: EVIL };
    expect((await createTag(headers)).status).toBe(403);
  });

  it('is answered 401 if the password is wrong', async () => {
    const Authorization = `Basic ${Buffer.from('admin:wrong').toString('base64')}`;
    expect((await createTag({ Authorization, 'Sec-Fetch-Site': 'cross-site' })).status).toBe(401);
  });

  it('may link to pages that are only read, and to a GET that changes nothing', async () => {
    const site = { 'Sec-Fetch-Site': 'cross-site', Origin: EVIL };
    expect((await ask('GET', '/api/v1/tags', site)).status).toBe(200);
    expect((await ask('HEAD', '/api/v1/tags', site)).status).toBe(200);
    expect((await ask('GET', '/api/v1/docs', site)).status).toBe(200);
    expect((await ask('HEAD', '/dep/certificate/download', site)).status).toBe(405);
  });
});

describe('requests are allowed from', () => {
  it.each([
    ['programs, with Basic', () => ({})],
    ['programs with Bearer, whatever they say', () => ({ Authorization: BEARER, Origin: EVIL })],
    [
      'pages with Bearer',
      () => ({ Authorization: BEARER, 'Sec-Fetch-Site': 'cross-site', Origin: 'null' }),
    ],
    ['an address that was typed', () => ({ 'Sec-Fetch-Site': 'none' })],
    ["the server's own pages", () => ({ 'Sec-Fetch-Site': 'same-origin', Origin: PUBLIC_URL })],
    [
      'its forms, which send no origin',
      () => ({ 'Sec-Fetch-Site': 'same-origin', Origin: 'null' }),
    ],
    ['its pages in an older browser', () => ({ Origin: PUBLIC_URL })],
    ['its pages under another name', () => ({ Origin: app.url })],
    ['pages of CORS_ORIGINS', () => ({ 'Sec-Fetch-Site': 'cross-site', Origin: CONSOLE })],
  ])('%s', async (_, headersOf) => {
    const headers: Headers = headersOf();
    expect((await createTag(headers)).status).toBe(201);
    const path = `/api/v1/devices/inventory/${deviceId}`;
    expect((await ask('GET', path, headers)).status).toBe(201);
  });
});
