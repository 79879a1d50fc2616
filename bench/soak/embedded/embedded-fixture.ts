import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { openEmbedded } from '../../../src/embedded-postgres/open-embedded.js';
import { createLogger } from '../../../src/logger.js';
import { DeviceProxy } from '../../../test/e2e/device-proxy.js';
import { ApiClient } from '../../load/api-client.js';
import { type ServerProcess, startServerProcess } from '../../load/server-process.js';
import { until } from '../scenario.js';

const MUSTER = join(__dirname, '..', '..', '..', 'dist', 'src', 'cli', 'muster.js');
const ADMIN_TOKEN = 'admin-token-of-the-soak';
const LANES = 3;
const PAUSE_MS = 50;
const FINAL = ['Acknowledged', 'Error', 'CommandFormatError'];
const LAST_REPORTS_MS = 120_000;

/** One server with its embedded PostgreSQL in `dataDir`, devices that poll, and admins that queue. */
export class EmbeddedFixture {
  readonly #proxy: DeviceProxy;
  readonly #devices: ChildProcess;
  readonly #api: ApiClient;
  readonly #accepted: string[] = [];
  readonly #apiStatuses = new Map<number, number>();
  #isOver = false;
  #lanes: Promise<unknown> = Promise.resolve();

  private constructor(
    readonly dataDir: string,
    readonly server: ServerProcess,
    proxy: DeviceProxy,
    devices: ChildProcess,
  ) {
    this.#proxy = proxy;
    this.#devices = devices;
    this.#api = new ApiClient(server.port, ADMIN_TOKEN);
  }

  static async open(dataDir: string, devices: number): Promise<EmbeddedFixture> {
    const ports: number[] = [];
    const proxy = new DeviceProxy(ports);
    const url = await proxy.listen();
    const settings = {
      PUBLIC_URL: url,
      ADMIN_TOKEN,
      LOG_LEVEL: process.env.SOAK_LOG_LEVEL ?? 'fatal',
    };
    const server = await startServerProcess({ databaseUrl: '', dataDir, settings });
    ports.push(server.port);
    const pace = ['--poll-interval', '0.2', '--concurrency', '4'];
    const args = ['simulate', '--devices', String(devices), '--forever', '--url', url, ...pace];
    const simulation = spawn(process.execPath, [MUSTER, ...args], { stdio: 'ignore' });
    const fixture = new EmbeddedFixture(dataDir, server, proxy, simulation);
    await until(async () => (await fixture.#enrolled()).length === devices, {
      what: 'every device is enrolled',
      ms: LAST_REPORTS_MS,
      everyMs: 200,
    });
    fixture.#lanes = Promise.all(Array.from({ length: LANES }, () => fixture.#queueCommands()));
    return fixture;
  }

  async #enrolled(): Promise<number[]> {
    const path = '/devices?filter[is_enrolled]=true&page[size]=1000&fields[devices]=udid';
    const { status, body } = await this.#api.call({ path });
    if (status !== 200) return [];
    const { data } = JSON.parse(body.toString()) as { data: { id: number }[] };
    return data.map(({ id }) => id);
  }

  async #queueCommands(): Promise<void> {
    const ids = await this.#enrolled();
    for (let n = 0; !this.#isOver; n += 1) {
      const device = { data: { type: 'devices', id: ids[n % ids.length] } };
      const attributes = { request_type: 'SecurityInfo' };
      const body = { data: { type: 'commands', attributes, relationships: { device } } };
      const reply = await this.#api.call({ method: 'POST', path: '/commands', body });
      this.#apiStatuses.set(reply.status, (this.#apiStatuses.get(reply.status) ?? 0) + 1);
      if (reply.status === 201) {
        this.#accepted.push(JSON.parse(reply.body.toString()).data.attributes.uuid);
      }
      await sleep(PAUSE_MS);
    }
  }

  /** Reports of commands that were answered with 200, since the fixture was opened. */
  get #reported(): number {
    return this.#proxy.exchanges.filter(
      ({ kind, answer }) => FINAL.includes(kind) && answer === 200,
    ).length;
  }

  async readyz(): Promise<{ status: number; text: string }> {
    const reply = await fetch(`http://127.0.0.1:${this.server.port}/readyz`);
    return { status: reply.status, text: await reply.text() };
  }

  /** Seconds until another command and report are accepted and the server is ready. */
  async untilWell(ms: number): Promise<number> {
    const [accepted, reported] = [this.#accepted.length, this.#reported];
    const isWell = async () =>
      this.#accepted.length > accepted &&
      this.#reported > reported &&
      (await this.readyz()).status === 200;
    return await until(isWell, { what: 'commands and reports are taken, /readyz is 200', ms });
  }

  /** Stops queueing, waits for the last reports, and returns the guarantees that do not hold. */
  async brokenPromises(): Promise<string[]> {
    this.#isOver = true;
    await this.#lanes;
    const isDone = async () => {
      const stored = await this.#storedStatuses();
      return this.#accepted.every((uuid) => FINAL.includes(stored.get(uuid) ?? ''));
    };
    const wait = { what: 'every command is answered', ms: LAST_REPORTS_MS, everyMs: 500 };
    await until(isDone, wait).catch(() => undefined);
    const stored = await this.#storedStatuses();
    const { exchanges } = this.#proxy;
    const reported = exchanges.filter(({ kind, answer }) => FINAL.includes(kind) && answer === 200);
    const lost = reported.filter(({ commandUuid = '', kind }) => stored.get(commandUuid) !== kind);
    const missing = this.#accepted.filter((uuid) => !stored.has(uuid));
    const open = this.#accepted.filter((uuid) => !FINAL.includes(stored.get(uuid) ?? ''));
    // Requests without an answer are still under way: the server runs all the time.
    const others = exchanges.filter(({ answer = 200 }) => answer !== 200 && answer !== 503);
    const impatient = exchanges.filter(({ answer, retryAfter }) => answer === 503 && !retryAfter);
    const odd = [...this.#apiStatuses].filter(([status]) => status !== 201 && status !== 503);
    const faults: [boolean, string][] = [
      [missing.length > 0, `${missing.length} accepted commands are gone`],
      [lost.length > 0, `${lost.length} reports that were answered with 200 are not stored`],
      [open.length > missing.length, `${open.length} accepted commands were never answered`],
      [others.length > 0, `devices were answered ${[...new Set(others.map((one) => one.answer))]}`],
      [impatient.length > 0, `${impatient.length} answers 503 without Retry-After`],
      [odd.length > 0, `the API answered ${odd.map(([status, n]) => `${status} ×${n}`)}`],
    ];
    return faults.filter(([isSo]) => isSo).map(([, words]) => words);
  }

  get figures(): Record<string, number> {
    const refused = this.#proxy.exchanges.filter(({ answer }) => answer === 503);
    return {
      accepted: this.#accepted.length,
      reports: this.#reported,
      deviceAnswers503: refused.length,
      apiAnswers503: this.#apiStatuses.get(503) ?? 0,
    };
  }

  async #storedStatuses(): Promise<Map<string, string>> {
    const { dataDir } = this;
    const logger = createLogger('silent');
    const { connection } = await openEmbedded({ dataDir, mode: 'use', logger });
    const client = new pg.Client({ ...connection });
    await client.connect();
    const { rows } = await client.query('select uuid::text, status from commands');
    await client.end();
    return new Map(rows.map(({ uuid, status }) => [uuid, status]));
  }

  async close(): Promise<void> {
    this.#isOver = true;
    await this.#lanes.catch(() => undefined);
    this.#devices.kill('SIGKILL');
    if (this.#devices.exitCode === null) await once(this.#devices, 'exit');
    this.#proxy.close();
    this.#api.close();
    await this.server.stop();
  }
}
