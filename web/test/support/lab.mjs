import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { openEmbedded } from '../../../dist/src/embedded-postgres/open-embedded.js';

const MUSTER = fileURLToPath(new URL('../../../dist/src/cli/muster.js', import.meta.url));
const DEVICES = 5;
const STARTS_WITHIN = 120;
const ENDS_WITHIN = 20_000;
const SIGN_IN_LINK = /http\S+\/sign-in#[\w-]+/;

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
  /** Signs one browser in; only a fresh server has it. */
  link;
  #directory = mkdtempSync(join(tmpdir(), 'muster-web-'));
  #children = [];
  #port;

  constructor() {
    // As root, PostgreSQL's account could not pass, and its files would be kept elsewhere.
    chmodSync(this.#directory, 0o711);
  }

  static async start() {
    const lab = new Lab();
    await lab.#choosePort();
    lab.#run(['lab', '--devices', String(DEVICES)]);
    for (let second = 0; second < STARTS_WITHIN; second += 1) {
      const document = await lab.api('GET', '/devices').catch(() => undefined);
      if (document?.meta?.total >= DEVICES) return lab;
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
    await lab.stop();
    throw new Error(`the lab enrolled no ${DEVICES} devices within ${STARTS_WITHIN} seconds`);
  }

  /** A server that has started for the first time, with the lab on and no device. */
  static async startFresh() {
    const lab = new Lab();
    lab.token = undefined;
    await lab.#choosePort();
    const child = lab.#run(['serve'], { LAB: 'on' }, 'pipe');
    let log = '';
    child.stdout.on('data', (text) => {
      log += text;
    });
    try {
      await lab.until(() => SIGN_IN_LINK.test(log), STARTS_WITHIN);
    } catch (error) {
      await lab.stop();
      throw error;
    }
    [lab.link] = SIGN_IN_LINK.exec(log);
    lab.token = readFileSync(join(lab.#directory, 'admin-token'), 'utf8').trim();
    return lab;
  }

  /** What `muster` prints, for a command that ends. */
  async muster(...args) {
    const child = this.#run(args, {}, 'pipe');
    let printed = '';
    child.stdout.on('data', (text) => {
      printed += text;
    });
    const code = await new Promise((resolve) => child.once('close', resolve));
    if (code !== 0) throw new Error(`muster ${args.join(' ')} ended with ${code}: ${printed}`);
    return printed;
  }

  /** `muster` with these arguments, until the lab ends. */
  start(...args) {
    this.#run(args);
  }

  /** Devices that stay until the lab ends, as these options of `muster simulate` say. */
  enroll(...options) {
    this.#run(['simulate', ...options, '--push', '--forever', '--url', this.url]);
  }

  /** Rows of a statement, for what cannot be brought about from outside: time that has passed. */
  async query(statement, values) {
    const logger = { debug() {}, info() {}, warn() {}, error() {} };
    const database = await openEmbedded({ dataDir: this.#directory, logger, mode: 'use' });
    const client = new pg.Client(database.connection);
    await client.connect();
    try {
      return (await client.query(statement, values)).rows;
    } finally {
      await client.end();
      await database.stop();
    }
  }

  /** One more device, which behaves as `muster simulate --break` says. */
  simulate(behavior) {
    this.enroll('--devices', '1', '--platform', 'iOS', '--break', behavior);
  }

  /** Resolves once it holds; throws after so many seconds. */
  async until(holds, seconds = 30) {
    for (let half = 0; half < 2 * seconds; half += 1) {
      if (await holds()) return;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
    throw new Error(`it did not come to hold within ${seconds} seconds`);
  }

  /** The document that the API answers to the admin, past the browser. */
  async api(method, path, body) {
    const headers = {
      Authorization: `Bearer ${this.token}`,
      'Content-Type': 'application/vnd.api+json',
    };
    const text = body === undefined ? undefined : JSON.stringify(body);
    const answer = await fetch(`${this.url}/api/v1${path}`, { method, headers, body: text });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  }

  async #choosePort() {
    this.#port = await freePort();
    this.url = `http://localhost:${this.#port}`;
  }

  #run(args, more = {}, stdout = 'ignore') {
    const own = { HOST: '127.0.0.1', PORT: String(this.#port), DATA_DIR: this.#directory };
    const ADMIN_TOKEN = this.token;
    const child = spawn(process.execPath, [MUSTER, ...args], {
      env: { ...process.env, ...own, ADMIN_TOKEN, ...more },
      stdio: ['ignore', stdout, 'ignore'],
    });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    this.#children.push({ child, ended });
    return child;
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
