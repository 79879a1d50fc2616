import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const MUSTER = fileURLToPath(new URL('../../../dist/src/cli/muster.js', import.meta.url));
const DEVICES = 5;
const STARTS_WITHIN = 120;
const ENDS_WITHIN = 20_000;

export const TOKEN = 'test-web-token-0123456789';

function freePort() {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

/** The built server with simulated devices, on a port and in a directory of its own. */
export class Lab {
  token = TOKEN;
  #directory = mkdtempSync(join(tmpdir(), 'muster-web-'));
  #children = [];

  static async start() {
    const lab = new Lab();
    const port = await freePort();
    lab.url = `http://localhost:${port}`;
    lab.#run(['lab', '--devices', String(DEVICES)], { PORT: String(port) });
    for (let second = 0; second < STARTS_WITHIN; second += 1) {
      const document = await lab.api('GET', '/devices').catch(() => undefined);
      if (document?.meta?.total >= DEVICES) return lab;
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
    await lab.stop();
    throw new Error(`the lab enrolled no ${DEVICES} devices within ${STARTS_WITHIN} seconds`);
  }

  /** One more device, which behaves as `muster simulate --break` says. */
  simulate(behavior) {
    const kind = ['--devices', '1', '--platform', 'iOS', '--break', behavior];
    this.#run(['simulate', ...kind, '--push', '--forever', '--url', this.url]);
  }

  /** Resolves once it holds; throws after half a minute. */
  async until(holds) {
    for (let half = 0; half < 60; half += 1) {
      if (await holds()) return;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
    throw new Error('it did not come to hold within 30 seconds');
  }

  /** The document that the API answers to the admin, past the browser. */
  async api(method, path, body) {
    const headers = {
      Authorization: `Bearer ${TOKEN}`,
      'Content-Type': 'application/vnd.api+json',
    };
    const text = body === undefined ? undefined : JSON.stringify(body);
    const answer = await fetch(`${this.url}/api/v1${path}`, { method, headers, body: text });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  }

  #run(args, more = {}) {
    const env = { ...process.env, ADMIN_TOKEN: TOKEN, HOST: '127.0.0.1', ...more };
    const child = spawn(process.execPath, [MUSTER, ...args], {
      env: { ...env, DATA_DIR: this.#directory },
      stdio: 'ignore',
    });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    this.#children.push({ child, ended });
  }

  async stop() {
    for (const { child, ended } of this.#children.reverse()) {
      child.kill();
      const timer = setTimeout(() => child.kill('SIGKILL'), ENDS_WITHIN);
      await ended;
      clearTimeout(timer);
    }
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
