import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const WAIT = 20_000;
export const DESK = { width: 1280, height: 800 };
export const PHONE = { width: 360, height: 800 };
/** Browsers write every refusal to the console: of who is signed out, and of a form that is not valid. */
const EXPECTED = /status of (?:401|409|422)/;

/** A browser in which a person does the tasks, one after the other. */
export class Session {
  #faults = [];
  #checked = new Set();

  static async open(lab) {
    const session = new Session();
    session.lab = lab;
    session.url = lab.url;
    session.token = lab.token;
    const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
    session.browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
    session.page = await session.browser.newPage({ viewport: DESK, reducedMotion: 'reduce' });
    session.page.setDefaultTimeout(WAIT);
    session.page.on('pageerror', (error) => session.#faults.push(error.message));
    session.page.on('console', (message) => {
      const isFault = message.type() === 'error' && !EXPECTED.test(message.text());
      if (isFault) session.#faults.push(message.text());
    });
    return session;
  }

  /** Errors, and what the content security policy has blocked, since the last time. */
  takeFaults() {
    return this.#faults.splice(0);
  }

  assertQuiet() {
    const faults = this.takeFaults();
    if (faults.length > 0) throw new Error(`the browser's console has:\n${faults.join('\n')}`);
  }

  /** The page as it is, light and dark; each page once as narrow as a phone. */
  async assertAccessible() {
    await this.#runAxe('light', DESK);
    await this.#runAxe('dark', DESK);
    const name = this.#pageName();
    if (!this.#checked.has(name)) await this.#runAxe('light', PHONE);
    this.#checked.add(name);
    await this.show({ theme: 'light', viewport: DESK });
  }

  /** Where a task has ended: each page once. */
  async assertPageAccessible() {
    if (!this.#checked.has(this.#pageName())) await this.assertAccessible();
  }

  #pageName() {
    const { pathname, search } = new URL(this.page.url());
    return `${pathname}${search}`.replace(/\d+/g, 'ID');
  }

  async #runAxe(theme, viewport) {
    await this.show({ theme, viewport });
    if (await this.page.evaluate(() => globalThis.axe === undefined)) await this.page.evaluate(AXE);
    const { violations } = await this.page.evaluate(() => globalThis.axe.run());
    if (violations.length === 0) return;
    const found = violations.map(({ id, nodes }) => `${id}: ${nodes[0].html}`);
    const where = `${this.page.url()} (${theme}, ${viewport.width} px)`;
    throw new Error(`${where} is not accessible:\n${found.join('\n')}`);
  }

  /** The page in a theme and at a width. */
  async show({ theme, viewport }) {
    await this.page.setViewportSize(viewport);
    await this.page.evaluate((name) => {
      document.documentElement.dataset.theme = name;
    }, theme);
  }

  close() {
    return this.browser.close();
  }
}
