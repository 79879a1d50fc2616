import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { revokeToken } from '../../../src/auth/api-tokens.js';
import {
  createFirstSignInLink,
  createSignInLink,
  type SignInLink,
} from '../../../src/auth/sign-in-links.js';
import { linkConsole } from '../../../src/cli/link/console-link.js';
import { removeOldSignInLinks } from '../../../src/db/admin/sign-in-link-repository.js';
import { offerSignIn } from '../../../src/server/serving.js';
import { ADMIN_TOKEN, adminApi, startApp, type TestApp } from '../../helpers/app.js';
import {
  removeTemporaryDirectories,
  temporaryDirectory,
} from '../../helpers/temporary-directory.js';
import { capturingLogger } from '../../http/log-lines.js';
import { browserOf, CONTEXT, cookieOf, faultOf, newToken } from './session-browser.js';

const PUBLIC_URL = 'http://localhost:8080';
const HOUR_MS = 3_600_000;

let app: TestApp;
let browser: ReturnType<typeof browserOf>;

beforeAll(async () => {
  app = await startApp({ isSweeping: false, env: { PUBLIC_URL } });
  browser = browserOf(app);
});
afterAll(async () => {
  await app.stop();
  removeTemporaryDirectories();
});
afterEach(async () => {
  await app.db.knex('sessions').delete();
  await app.db.knex('sign_in_links').delete();
  await app.db.knex('tokens').delete();
});

const deps = (adminToken?: string) => ({ db: app.db, publicUrl: PUBLIC_URL, adminToken });

function secretOf({ url }: Pick<SignInLink, 'url'>): string {
  expect(url).toMatch(/^http:\/\/localhost:8080\/sign-in#[\w-]{43}$/);
  return new URL(url).hash.slice(1);
}

describe('a sign-in link', () => {
  it.each([
    ['an unknown secret', { link_secret: 'x'.repeat(43) }, 401, 'unauthorized'],
    ['an empty secret', { link_secret: '' }, 422, 'validation_failed'],
    ['a token beside it', { link_secret: 'x', token: ADMIN_TOKEN }, 422, 'validation_failed'],
    ['no text', { link_secret: 7 }, 422, 'validation_failed'],
  ])('is refused with %s', async (_case, attributes, status, code) => {
    const reply = await browser.signInWith(attributes);
    expect(faultOf(reply)).toEqual([status, code]);
    expect(reply.headers.get('set-cookie')).toBeNull();
  });

  it('signs in once as its token, and is named in the audit trail', async () => {
    const { row } = await newToken(app, 'operator');
    const link = await createSignInLink(deps(), CONTEXT, { id: row.id });
    const secret = secretOf(link);
    const reply = await browser.signInWith({ link_secret: secret });
    expect(reply.status).toBe(201);
    expect(reply.body.data.attributes).toMatchObject({ name: 'a operator', role: 'operator' });
    const me = await browser.call('GET', '/me', { Cookie: cookieOf(reply) });
    expect(me.body.data.attributes).toMatchObject({ name: 'a operator', role: 'operator' });
    const [stored] = await app.db.knex('sign_in_links');
    expect(stored.used_at).toBeInstanceOf(Date);
    expect(stored.expires_at - stored.created_at).toBe(HOUR_MS);
    const events = await app.db
      .knex('audit_events')
      .whereIn('action', ['sign_in_links.create', 'sessions.create'])
      .orderBy('id', 'desc')
      .limit(2);
    expect(events).toEqual([
      expect.objectContaining({ details: { sign_in_link_id: stored.id }, actor: 'a operator' }),
      expect.objectContaining({ actor: 'cli', target_id: String(stored.id) }),
    ]);
    expect(JSON.stringify([stored, ...events])).not.toContain(secret);
    const again = await browser.signInWith({ link_secret: secret });
    expect(again.body.errors).toEqual([
      expect.objectContaining({
        status: '401',
        detail:
          'the link has been used, has expired or is unknown: make another by `npm run muster -- link console`, ' +
          'or `muster link console` where Muster is installed, ' +
          'or sign in with a token',
      }),
    ]);
    expect(again.headers.get('www-authenticate')).toBe('Bearer realm="muster"');
  });

  it('signs in one of two browsers that use it at the same time', async () => {
    const { row } = await newToken(app, 'viewer');
    const secret = secretOf(await createSignInLink(deps(), CONTEXT, { id: row.id }));
    const replies = await Promise.all(
      Array.from({ length: 5 }, () => browser.signInWith({ link_secret: secret })),
    );
    expect(replies.map(({ status }) => status).sort((a, b) => a - b)).toEqual([
      201, 401, 401, 401, 401,
    ]);
    expect(await app.db.knex('sessions')).toHaveLength(1);
  });

  it.each<[string, (tokenId: number) => Promise<unknown>]>([
    ['it has expired', () => app.db.knex('sign_in_links').update({ expires_at: new Date() })],
    ['its token is revoked', (id) => revokeToken(app.db, { id }, CONTEXT)],
    [
      'its token has expired',
      (id) =>
        app.db
          .knex('tokens')
          .where({ id })
          .update({ expires_at: new Date(0) }),
    ],
  ])('signs nobody in when %s', async (_case, end) => {
    const { row } = await newToken(app, 'viewer');
    const link = await createSignInLink(deps(), CONTEXT, { id: row.id });
    await end(row.id);
    const reply = await browser.signInWith({ link_secret: secretOf(link) });
    expect(faultOf(reply)).toEqual([401, 'unauthorized']);
    const [stored] = await app.db.knex('sign_in_links');
    expect(stored.used_at).toBeNull();
  });

  it('counts as a failed authentication when it is refused', async () => {
    const other = await startApp({ isSweeping: false });
    const wrong = browserOf(other);
    const statuses: number[] = [];
    for (let index = 0; index < 21; index += 1) {
      statuses.push((await wrong.signInWith({ link_secret: `wrong-${index}` })).status);
    }
    expect(statuses).toEqual([...Array<number>(20).fill(401), 429]);
    expect((await adminApi(other).get('/me')).status).toBe(200);
    await other.stop();
  });

  it('of ADMIN_TOKEN signs in while that is set', async () => {
    const link = await createSignInLink(deps(ADMIN_TOKEN), CONTEXT);
    expect(link.token).toEqual({ id: null, name: 'ADMIN_TOKEN', role: 'admin' });
    const reply = await browser.signInWith({ link_secret: secretOf(link) });
    expect(reply.body.data.attributes).toMatchObject({ name: 'ADMIN_TOKEN', role: 'admin' });
  });

  it('is deleted a day after its end, except the last one', async () => {
    const { row } = await newToken(app, 'viewer');
    for (let index = 0; index < 3; index += 1) {
      await createSignInLink(deps(), CONTEXT, { id: row.id });
    }
    await app.db.knex('sign_in_links').update({ expires_at: new Date(Date.now() - 25 * HOUR_MS) });
    expect(await removeOldSignInLinks(app.db.knex, 100)).toBe(2);
    expect(await app.db.knex('sign_in_links')).toHaveLength(1);
  });
});

describe('muster link console', () => {
  const run = async (args: { token?: string } = {}, adminToken?: string) => {
    const output: string[] = [];
    await linkConsole(deps(adminToken), args, (line) => void output.push(line));
    return output;
  };

  it.each([
    [{ token: 'nobody' }, 'a valid token "nobody" does not exist'],
    [{ token: '999999' }, 'a valid token 999999 does not exist'],
    [{}, 'no admin token is valid: make one by `muster token create --name NAME --role admin`'],
  ])('refuses %j without such a token', async (args, message) => {
    await newToken(app, 'viewer');
    await expect(run(args)).rejects.toThrow(message);
    expect(await app.db.knex('sign_in_links')).toEqual([]);
  });

  it('prints the address alone on the first line, of the first admin token by default', async () => {
    await newToken(app, 'viewer');
    const first = await newToken(app, 'admin');
    await newToken(app, 'admin');
    const [url = '', text] = await run();
    expect(text).toMatch(
      /^signs one browser in as a admin, role admin, once and within 60 minutes \(until .+\)$/,
    );
    secretOf({ url });
    const [stored] = await app.db.knex('sign_in_links');
    expect(stored.token_id).toBe(first.row.id);
  });

  it('uses the newest token of a name, and ADMIN_TOKEN if it is set', async () => {
    await newToken(app, 'operator');
    const newest = await newToken(app, 'operator');
    await run({ token: 'a operator' });
    await run({ token: String(newest.row.id) });
    const [, text] = await run({}, ADMIN_TOKEN);
    expect(text).toContain('as ADMIN_TOKEN, role admin');
    const stored = await app.db.knex('sign_in_links').orderBy('id');
    expect(stored.map((row) => row.token_id)).toEqual([newest.row.id, newest.row.id, null]);
  });
});

describe('the first start', () => {
  const consoleDirectory = () => {
    const directory = temporaryDirectory();
    mkdirSync(join(directory, 'assets'));
    writeFileSync(join(directory, 'index.html'), '<html><head></head></html>');
    return directory;
  };
  const offer = async (directory: string, role: 'all' | 'worker' = 'all') => {
    const { logger, lines } = capturingLogger();
    const config = { ...app.config, role };
    const options = { db: app.db, logger, consoleDirectory: directory };
    await offerSignIn({ publicUrl: PUBLIC_URL }, config, options);
    return lines.map(({ msg }) => msg);
  };

  it('logs a link that signs in, once', async () => {
    const directory = consoleDirectory();
    const [line = '', ...others] = await offer(directory);
    expect(others).toEqual([]);
    const [, url = ''] =
      /^Open the console, once and within 60 minutes: (.+)$/.exec(String(line)) ?? [];
    expect(await offer(directory)).toEqual([]);
    const reply = await browser.signInWith({ link_secret: secretOf({ url }) });
    expect(reply.body.data.attributes).toMatchObject({ name: 'ADMIN_TOKEN', role: 'admin' });
    expect(await offer(directory)).toEqual([]);
  });

  it('logs no link without a console, in a worker, and after somebody has signed in', async () => {
    expect(await offer(temporaryDirectory())).toEqual([]);
    expect(await offer(consoleDirectory(), 'worker')).toEqual([]);
    await browser.signedIn();
    expect(await offer(consoleDirectory())).toEqual([]);
    expect(await app.db.knex('sign_in_links')).toEqual([]);
  });

  it('makes one link when several processes start at once', async () => {
    await newToken(app, 'admin');
    const links = await Promise.all(Array.from({ length: 4 }, () => createFirstSignInLink(deps())));
    expect(links.filter((link) => link !== undefined)).toHaveLength(1);
  });
});
