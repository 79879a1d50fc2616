import { createHash } from 'node:crypto';
import request from 'supertest';
import { adminApi, PUBLIC_URL, startApp, type TestApp } from '../helpers/app.js';
import { temporaryTls } from '../helpers/tls.js';
import { dumpRows } from '../mdm/rows.js';
import { addUser } from './account/fixture.js';
import { makeLink } from './links.js';

let open: TestApp;
let closed: TestApp;
let byLink: TestApp;

beforeAll(async () => {
  open = await startApp({ env: { ACCOUNT_ENROLLMENT: 'off' }, isSweeping: false });
  closed = await startApp({ env: { ENROLLMENT: 'closed' }, isSweeping: false });
  byLink = await startApp({ env: { ENROLLMENT: 'link' }, isSweeping: false });
});
afterAll(() => Promise.all([open, closed, byLink].map((app) => app?.stop())));

interface Page {
  status: number;
  headers: Record<string, string>;
  text: string;
}

async function get({ app }: TestApp, path: string): Promise<Page> {
  const { status, headers, text } = await request(app).get(path);
  return { status, headers, text };
}

const VOID = new Set(['meta', 'link', 'br', 'img', 'input', 'hr']);

/** Every element in its order, with the text before the next tag; throws unless all of it nests. */
function elementsOf(page: string): { name: string; attributes: Record<string, string> }[] {
  const stack: string[] = [];
  const elements = [];
  const markup = page.replace(/^<!DOCTYPE html>/, '').replace(/<style>[^<]*<\/style>/, '');
  for (const [, end, name = '', rest = ''] of markup.matchAll(/<(\/?)([a-z0-9]+)([^<>]*)>/g)) {
    if (end) expect(stack.pop()).toBe(name);
    else if (!VOID.has(name)) stack.push(name);
    if (end) continue;
    const pairs = [...rest.matchAll(/ ([a-z-]+)="([^"]*)"/g)].map(([, key, value]) => [key, value]);
    elements.push({ name, attributes: Object.fromEntries(pairs) });
  }
  expect(stack).toEqual([]);
  expect(markup.replace(/<\/?[a-z0-9]+[^<>]*>/g, '')).not.toMatch(/[<>]/);
  return elements;
}

function linksOf(page: string): string[] {
  return elementsOf(page).flatMap(({ name, attributes: { href = '' } }) =>
    name === 'a' ? [href] : [],
  );
}

function headingsOf(page: string): string[] {
  return [...page.matchAll(/<h[12]>([^<]*)<\/h[12]>/g)].map(([, text]) => text ?? '');
}

const BY_ACCOUNT = 'Or sign in with your work account';

describe('the page for enrollment', () => {
  it.each([
    ['closed', () => closed, '', 'Enrollment is closed on this server.'],
    ['without a link', () => byLink, '', 'Enrollment needs a valid link from an administrator.'],
    [
      'with an unknown link',
      () => open,
      '?token=<script>alert(1)</script>',
      'Enrollment needs a valid link from an administrator.',
    ],
    ['of a spent link', () => byLink, { max_uses: 1 }, 'This link was used as often as it may be.'],
    ['of a disabled link', () => open, { is_disabled: true }, 'An administrator has disabled this'],
    [
      'of an old link',
      () => byLink,
      { expires_at: '2020-01-01T00:00:00Z' },
      'This link has expired',
    ],
  ])('%s shows the reason, as a page', async (_case, app, given, reason) => {
    const query = typeof given === 'string' ? given : await linkQuery(app(), given);
    const { status, headers, text } = await get(app(), `/enroll/${query}`);
    expect(status).toBe(403);
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    expect(headers['cache-control']).toBe('no-store');
    expect(headingsOf(text)).toEqual(['Your device cannot be enrolled here now']);
    expect(text).toContain(`<p>${reason}`);
    expect(linksOf(text)).toEqual([]);
    expect(text).not.toContain('script');
  });

  async function linkQuery(app: TestApp, attributes: Record<string, unknown>): Promise<string> {
    const { id, token } = await makeLink(app, attributes);
    await app.db.knex('enrollment_links').where({ id, max_uses: 1 }).update({ uses: 1 });
    return `?token=${token}`;
  }

  it.each(['/enroll', '/enroll/'])('at %s leads to the profile', async (path) => {
    const { status, headers, text } = await get(open, path);
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    expect(headers['content-length']).toBe(String(Buffer.byteLength(text)));
    expect(headingsOf(text)).toEqual(['Enroll your device with Muster', 'Enroll']);
    expect(linksOf(text)).toEqual([`${PUBLIC_URL}/enroll/profile`, `${PUBLIC_URL}/enroll/ota`]);
  });

  it('keeps the token of a link', async () => {
    const { token, url } = await makeLink(byLink);
    expect(url).toBe(`${PUBLIC_URL}/enroll/?token=${token}`);
    const { status, text } = await get(byLink, url.slice(PUBLIC_URL.length));
    expect(status).toBe(200);
    expect(linksOf(text)).toEqual([
      `${PUBLIC_URL}/enroll/profile?token=${token}`,
      `${PUBLIC_URL}/enroll/ota?token=${token}`,
    ]);
    expect(headingsOf(text)).not.toContain(BY_ACCOUNT);
  });

  it('offers enrollment by account when devices discover this server for sign-in', async () => {
    const { url } = await makeLink(byLink);
    const discovered = () => get(byLink, '/.well-known/com.apple.remotemanagement');
    const headings = async () => headingsOf((await get(byLink, url.slice(PUBLIC_URL.length))).text);
    expect([(await discovered()).status, (await headings()).includes(BY_ACCOUNT)]).toEqual([
      403,
      false,
    ]);
    await addUser(byLink);
    expect([(await discovered()).status, (await headings()).includes(BY_ACCOUNT)]).toEqual([
      200,
      true,
    ]);
  });

  it('begins with the trust profile when devices do not trust the certificate', async () => {
    const app = await startApp({ env: await temporaryTls(), isSweeping: false });
    try {
      const { text } = await get(app, '/enroll/');
      expect(headingsOf(text).slice(1, 3)).toEqual(['1. Trust this server', '2. Enroll']);
      expect(linksOf(text)[0]).toBe(`${PUBLIC_URL}/enroll/trust.mobileconfig`);
      expect(text).toContain('Certificate Trust Settings');
    } finally {
      await app.stop();
    }
  });

  it('loads nothing, runs nothing, and sends its address to no other site', async () => {
    const { headers, text } = await get(open, '/enroll/');
    const elements = elementsOf(text);
    const loading = ['script', 'img', 'link', 'iframe', 'form', 'object', 'base', 'input'];
    expect(elements.filter(({ name }) => loading.includes(name))).toEqual([]);
    const attributes = elements.flatMap(({ attributes }) => Object.keys(attributes));
    expect(attributes.filter((name) => /^(on|src|style)/.test(name))).toEqual([]);
    const style = /<style>([^<]*)<\/style>/.exec(text)?.[1] ?? '';
    expect(style).not.toMatch(/url\(|@import/);
    const hash = createHash('sha256').update(style).digest('base64');
    expect(headers).toMatchObject({
      'content-security-policy':
        `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; ` +
        "form-action 'none'; frame-ancestors 'none'",
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-robots-tag': 'noindex',
    });
  });

  it('can be read on a phone, in the dark, and by a screen reader', async () => {
    const { text } = await get(open, '/enroll/');
    const elements = elementsOf(text);
    expect(elements.find(({ name }) => name === 'html')?.attributes).toEqual({ lang: 'en' });
    expect(text).toContain('<meta name="viewport" content="width=device-width, initial-scale=1">');
    expect(text).toContain('color-scheme: light dark');
    expect(elements.filter(({ name }) => name === 'main' || name === 'h1')).toHaveLength(2);
    const summaries = [...text.matchAll(/<summary>([^<]*)/g)].map(([, summary]) => summary);
    expect(summaries).toEqual(['iPhone and iPad', 'Mac', 'Apple Vision Pro', 'Apple TV']);
  });

  it('shows the name of the organization as text, whatever it is', async () => {
    const name = `<script>alert("1")</script> & 'Söhne'`;
    await adminApi(closed).patch('/configuration/organization', { name }).expect(200);
    await adminApi(open).patch('/configuration/organization', { name }).expect(200);
    for (const app of [open, closed]) {
      const { text } = await get(app, '/enroll/');
      expect(text).toContain(
        '&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#39;Söhne&#39;',
      );
      expect(elementsOf(text).map((element) => element.name)).not.toContain('script');
    }
  });

  it('answers HEAD without the page, and no other method', async () => {
    const page = await get(open, '/enroll/');
    const head = await request(open.app).head('/enroll/');
    expect([head.status, head.text]).toEqual([200, undefined]);
    expect(head.headers['content-length']).toBe(page.headers['content-length']);
    for (const method of ['post', 'put', 'delete', 'patch'] as const) {
      const refused = await request(open.app)[method]('/enroll/');
      expect([refused.status, refused.headers.allow]).toEqual([405, 'GET, HEAD']);
    }
  });

  it('stores nothing, and no log holds the token', async () => {
    const { token } = await makeLink(byLink);
    const before = await dumpRows(byLink.db);
    await get(byLink, `/enroll/?token=${token}`);
    await get(byLink, `/enroll/?token=${token}x`);
    expect(await dumpRows(byLink.db)).toEqual(before);
    expect(byLink.logText()).toContain('enrollment landing page: enrollment refused');
    expect(byLink.logText()).not.toContain(token);
  });
});
