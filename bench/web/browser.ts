import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';

const IN_PAGE = readFileSync(join(__dirname, 'in-page.js'), 'utf8');
const WAIT_MS = 60_000;

/** Debian's chromium, or the one that CHROMIUM names. */
export function launchBrowser(): Promise<Browser> {
  const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
  return chromium.launch({ executablePath, args: ['--no-sandbox'] });
}

export interface Console {
  browser: Browser;
  url: string;
  token: string;
}

type Cookies = Awaited<ReturnType<BrowserContext['cookies']>>;

/** A page of a browser that has stored nothing but these cookies, if any. */
export async function openPage(
  { browser, url }: Console,
  path: string,
  cookies: Cookies = [],
): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  await context.addCookies(cookies);
  const page = await context.newPage();
  page.setDefaultTimeout(WAIT_MS);
  await page.addInitScript(IN_PAGE);
  await page.goto(url + path);
  return page;
}

/** Fills the token in, and presses Sign in. */
export async function signIn(page: Page, token: string): Promise<void> {
  await page.getByLabel('API token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** The cookies of a browser that has signed in. */
export async function signedIn(console: Console): Promise<Cookies> {
  const page = await openPage(console, '/devices');
  await signIn(page, console.token);
  await page.evaluate('bench.rows()');
  const cookies = await page.context().cookies();
  await page.context().close();
  return cookies;
}
