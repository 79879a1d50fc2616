import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const SERVER = fileURLToPath(new URL('../../../dist/src/cli/muster.js', import.meta.url));
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const TOKEN = 'test-web-token-0123456789';
const PATIENCE = 20_000;
/** Browsers write every refusal to the console: of who is signed out, and of a form that is not valid. */
const EXPECTED = /status of (?:401|409|422)/;

function freePort() {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

/** The built server with simulated devices, on a port and in a directory of its own. */
export async function start() {
  const directory = mkdtempSync(join(tmpdir(), 'muster-web-'));
  const port = await freePort();
  const env = { ...process.env, ADMIN_TOKEN: TOKEN, DATA_DIR: directory, HOST: '127.0.0.1' };
  const server = spawn(process.execPath, [SERVER, 'lab', '--devices', '5'], {
    env: { ...env, PORT: String(port) },
    stdio: 'ignore',
  });
  const ended = new Promise((resolve) => server.once('exit', resolve));
  const stop = async () => {
    server.kill();
    await ended;
    rmSync(directory, { recursive: true, force: true });
  };
  const url = `http://localhost:${port}`;
  const headers = { Authorization: `Bearer ${TOKEN}` };
  for (let second = 0; second < 120; second += 1) {
    const answer = await fetch(`${url}/api/v1/devices`, { headers }).catch(() => undefined);
    if (answer?.ok && (await answer.json()).meta.total >= 5) return { url, stop };
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
  await stop();
  throw new Error('the lab enrolled no five devices within two minutes');
}

export class Session {
  token = TOKEN;
  #faults = [];

  static async open({ url }) {
    const session = new Session();
    session.url = url;
    const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
    session.browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
    session.page = await session.browser.newPage();
    session.page.setDefaultTimeout(PATIENCE);
    session.page.on('pageerror', (error) => session.#faults.push(error.message));
    session.page.on('console', (message) => {
      const isFault = message.type() === 'error' && !EXPECTED.test(message.text());
      if (isFault) session.#faults.push(message.text());
    });
    return session;
  }

  /** Errors and violations of the content security policy. */
  assertQuiet() {
    const faults = this.#faults.splice(0);
    if (faults.length > 0) throw new Error(`the browser's console has:\n${faults.join('\n')}`);
  }

  /** Light and dark, as wide as a desk and as a phone. */
  async assertAccessible() {
    for (const colorScheme of ['light', 'dark']) {
      for (const width of [1280, 360]) {
        await this.page.emulateMedia({ colorScheme });
        await this.page.setViewportSize({ width, height: 800 });
        await this.page.evaluate(AXE);
        const { violations } = await this.page.evaluate(() => globalThis.axe.run());
        const found = violations.map(({ id, nodes }) => `${id}: ${nodes[0].html}`);
        if (found.length > 0) throw new Error(`${colorScheme}, ${width}:\n${found.join('\n')}`);
      }
    }
    await this.page.setViewportSize({ width: 1280, height: 800 });
  }

  close() {
    return this.browser.close();
  }
}
