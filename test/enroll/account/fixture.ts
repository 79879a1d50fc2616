import { randomUUID, scryptSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readProfileFile } from '../../../src/lab/enrollment/enrollment-profile.js';
import { buildPlist } from '../../../src/protocol/plist/plist.js';
import { asAuthority, ecIdentity, type Identity, identityOf } from '../../crypto/identities.js';
import { signedBy } from '../../dep/asking-device.js';
import { PUBLIC_URL, startApp, type TestApp, type TestAppOptions } from '../../helpers/app.js';
import { deviceKeys, type Fields, TestDevice } from '../../helpers/device.js';
import { temporaryDirectory } from '../../helpers/temporary-directory.js';
import { certificatePem } from '../../mdm/certified-device.js';
import { askForIdentity } from '../renewal-fixture.js';

export const ALICE = 'alice@example.com';
export const PASSWORD = 'correct horse battery';
/** What iPhones say of themselves for a user enrollment. */
export const ANONYMOUS: Fields = { PRODUCT: 'iPhone14,5', VERSION: '21A342', LANGUAGE: 'de-CH' };
export const MACHINE: Fields = { ...ANONYMOUS, UDID: '00008101-ACC0', SERIAL: 'C02ACCOUNT1' };

export interface AccountFixture {
  app: TestApp;
  /** Certified by the device CA that the app trusts. */
  certified: Identity;
}

let authority: Promise<Identity> | undefined;

export async function startFixture({
  env,
  ...options
}: TestAppOptions = {}): Promise<AccountFixture> {
  authority ??= ecIdentity('P-256', asAuthority);
  const issuedBy = await authority;
  const file = join(temporaryDirectory(), 'device-ca.pem');
  writeFileSync(file, certificatePem(issuedBy.certificate));
  const app = await startApp({ ...options, env: { DEVICE_CA_FILE: file, ...env } });
  return { app, certified: identityOf(await deviceKeys(), { issuedBy }) };
}

/** Of PASSWORD, by so little work that many can be checked in a test. */
function cheapHash(): string {
  const salt = Buffer.alloc(16, 1);
  const hash = scryptSync(PASSWORD, salt, 32, { N: 2 ** 4, r: 8, p: 1 });
  const [salted, hashed] = [salt, hash].map((bytes) => bytes.toString('base64').replace(/=+$/, ''));
  return `$scrypt$ln=4,r=8,p=1$${salted}$${hashed}`;
}

export async function addUser({ db }: TestApp, columns: Record<string, unknown> = {}) {
  const row = { account: ALICE, password_hash: cheapHash(), ...columns };
  const [{ id }] = await db.knex('enrollment_users').insert(row, 'id');
  return Number(id);
}

export function discover({ url }: TestApp, query: string): Promise<Response> {
  return fetch(`${url}/.well-known/com.apple.remotemanagement${query}`);
}

export interface AskOptions {
  mode?: string;
  facts?: Fields;
  /** Of the Authorization header. */
  token?: string | undefined;
  signer?: Identity;
  body?: Buffer;
}

/** What a device posts, before and after its user has signed in. */
export async function ask({ app, certified }: AccountFixture, options: AskOptions = {}) {
  const { mode = 'byod', facts = mode === 'adde' ? MACHINE : ANONYMOUS, token } = options;
  const body = options.body ?? signedBy(options.signer ?? certified, buildPlist(facts));
  const headers = new Headers({ 'Content-Type': 'application/pkcs7-signature' });
  if (token !== undefined) headers.set('Authorization', `Bearer ${token}`);
  const response = await fetch(`${app.url}/enroll/account?mode=${mode}`, {
    method: 'POST',
    body: new Uint8Array(body),
    headers,
  });
  const { status } = response;
  return { status, headers: response.headers, body: Buffer.from(await response.arrayBuffer()) };
}

/** A browser as far as a sign-in needs one: cookies, and no redirect followed by itself. */
export class Browser {
  readonly #cookies = new Map<string, string>();
  address: string | undefined;

  constructor(private readonly app: TestApp) {}

  async open(url: string, init: RequestInit = {}) {
    const real = url.replace(PUBLIC_URL, this.app.url);
    const { origin } = new URL(real);
    const headers = new Headers(init.headers);
    const cookies = [...this.#cookies]
      .filter(([name]) => name.startsWith(`${origin} `))
      .map(([name, value]) => `${name.slice(origin.length + 1)}=${value}`);
    headers.set('Cookie', cookies.join('; '));
    if (this.address !== undefined) headers.set('X-Forwarded-For', this.address);
    const response = await fetch(real, { redirect: 'manual', ...init, headers });
    for (const cookie of response.headers.getSetCookie()) this.#keep(origin, cookie);
    const text = await response.text();
    const location = response.headers.get('location');
    return { status: response.status, headers: response.headers, text, location };
  }

  #keep(origin: string, cookie: string): void {
    const [pair = '', ...attributes] = cookie.split(';');
    const at = pair.indexOf('=');
    const name = `${origin} ${pair.slice(0, at)}`;
    if (attributes.some((each) => each.trim() === 'Max-Age=0')) this.#cookies.delete(name);
    else this.#cookies.set(name, pair.slice(at + 1));
  }

  get cookies(): string[] {
    return [...this.#cookies.values()];
  }

  forget(): void {
    this.#cookies.clear();
  }

  openLogin(query = `?user-identifier=${encodeURIComponent(ALICE)}`) {
    return this.open(`${PUBLIC_URL}/enroll/account/login${query}`);
  }

  submit(fields: Record<string, string>) {
    const body = new URLSearchParams(fields);
    return this.open(`${PUBLIC_URL}/enroll/account/login`, { method: 'POST', body });
  }
}

export function csrfIn(html: string): string {
  return /name="csrf" value="([^"]+)"/.exec(html)?.[1] ?? '';
}

/** The token in the redirect that ends a sign-in. */
export function tokenIn(location: string | null): string {
  const start = 'apple-remotemanagement-user-login://authentication-results?access-token=';
  if (!location?.startsWith(start)) throw new Error(`no token in ${location}`);
  return location.slice(start.length);
}

/** Through the form, as a person does. */
export async function signIn(app: TestApp, fields: Record<string, string> = {}) {
  const browser = new Browser(app);
  const form = await browser.openLogin();
  return browser.submit({
    csrf: csrfIn(form.text),
    account: ALICE,
    password: PASSWORD,
    ...fields,
  });
}

export async function tokenOf(app: TestApp, fields: Record<string, string> = {}) {
  return tokenIn((await signIn(app, fields)).location);
}

/** A device with the identity that this profile led it to. */
export async function installProfile(app: TestApp, profile: Buffer, ids?: Fields) {
  const certificate = await askForIdentity(app, readProfileFile(profile));
  const own = ids ?? { EnrollmentID: randomUUID().toUpperCase() };
  return new TestDevice(app.url, await deviceKeys(), certificate, own);
}
