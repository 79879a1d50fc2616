import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { type EmbeddedDatabase, openEmbedded } from '../../src/embedded-postgres/open-embedded.js';
import { readPostmaster } from '../../src/embedded-postgres/postmaster-pid.js';
import { isAlive, isZombie, processesNaming } from '../../src/embedded-postgres/processes.js';
import { removeTemporaryDirectories, temporaryDirectory } from '../helpers/temporary-directory.js';
import { capturingLogger } from '../http/log-lines.js';

const RESTART_MS = 3_000;

let dataDir: string;
let opened: EmbeddedDatabase;
let pool: pg.Pool;
const { logger, lines } = capturingLogger();

const data = () => join(dataDir, 'postgres', 'data');
const messages = () => lines.map(({ msg }) => msg);

beforeAll(async () => {
  dataDir = join(temporaryDirectory(), 'data');
});
beforeEach(async () => {
  lines.length = 0;
  opened = await openEmbedded({ dataDir, logger, mode: 'serve' });
  pool = new pg.Pool({ ...opened.connection, max: 8, connectionTimeoutMillis: 5_000 });
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
});
afterEach(async () => {
  await pool.end();
  await opened.stop();
});
afterAll(removeTemporaryDirectories);

function postmasterPid(): number {
  return readPostmaster(data())?.pid ?? 0;
}

/** Milliseconds until a query succeeds. */
async function untilAnswered(limit: number): Promise<number> {
  const startedAt = performance.now();
  for (;;) {
    const ms = performance.now() - startedAt;
    try {
      await pool.query('select 1');
      return ms;
    } catch (error) {
      if (ms > limit) throw error;
      await sleep(20);
    }
  }
}

async function untilLogged(text: string, times = 1): Promise<void> {
  const end = Date.now() + 10_000;
  while (messages().filter((message) => message?.includes(text)).length < times) {
    if (Date.now() > end) throw new Error(`not logged: ${text} in ${messages().join('\n')}`);
    await sleep(20);
  }
}

describe('kill -9 of the embedded PostgreSQL', () => {
  it('is followed by a restart within 3 s at the same address, though its children were busy', async () => {
    const busy = [1, 2, 3].map(() => pool.query('select pg_sleep(20)').catch(() => 'broken off'));
    // It does not notice the end of its parent by itself.
    const deaf = pool
      .query('do $$ declare n bigint := 0; begin loop n := n + 1; end loop; end $$')
      .catch(() => 'broken off');
    await sleep(300);
    const children = processesNaming(`${opened.clusterName}`) ?? [];
    expect(children.length).toBeGreaterThan(4);
    process.kill(postmasterPid(), 'SIGKILL');
    expect(await untilAnswered(RESTART_MS)).toBeLessThan(RESTART_MS);
    expect(await Promise.all([...busy, deaf])).toEqual(Array(4).fill('broken off'));
    for (const pid of children) expect([pid, isAlive(pid) && !isZombie(pid)]).toEqual([pid, false]);
    expect(messages()).toContain('the embedded PostgreSQL has ended and is started again');
    // Queries succeed as soon as PostgreSQL accepts them, a moment before the supervisor logs it.
    await untilLogged('the embedded PostgreSQL runs again');
  });

  it('loses no acknowledged row', async () => {
    await pool.query('create table if not exists kept (n integer primary key)');
    await pool.query('truncate kept');
    const acknowledged: number[] = [];
    let next = 0;
    let over = false;
    const lane = async () => {
      while (!over) {
        next += 1;
        const n = next;
        await pool.query('insert into kept values ($1)', [n]).then(
          () => acknowledged.push(n),
          () => sleep(10),
        );
      }
    };
    const lanes = [1, 2, 3, 4].map(lane);
    await sleep(300);
    const before = acknowledged.length;
    process.kill(postmasterPid(), 'SIGKILL');
    await untilLogged('the embedded PostgreSQL runs again');
    while (acknowledged.length < before + 100) await sleep(10);
    over = true;
    await Promise.all(lanes);
    const { rows } = await pool.query<{ n: number }>('select n from kept');
    const stored = new Set(rows.map(({ n }) => n));
    expect(acknowledged.length).toBeGreaterThan(100);
    expect(acknowledged.filter((n) => !stored.has(n))).toEqual([]);
  });

  it('is followed by attempts with growing pauses until PostgreSQL starts', async () => {
    const path = join(data(), 'postgresql.conf');
    const right = readFileSync(path);
    appendFileSync(path, 'no_such_setting_at_all = on\n');
    process.kill(postmasterPid(), 'SIGKILL');
    await untilLogged('could not be started again', 3);
    const failures = lines.filter(({ msg }) => msg?.includes('could not be started again'));
    expect(failures.map(({ retry_in_s }) => retry_in_s).slice(0, 3)).toEqual([1, 2, 4]);
    expect(JSON.stringify(failures[0])).toContain('no_such_setting_at_all');
    writeFileSync(path, right);
    await untilAnswered(6_000);
  });

  it('is followed by a longer pause when PostgreSQL ends again soon after', async () => {
    process.kill(postmasterPid(), 'SIGKILL');
    await untilLogged('the embedded PostgreSQL runs again');
    const killedAt = performance.now();
    process.kill(postmasterPid(), 'SIGKILL');
    await untilLogged('the embedded PostgreSQL runs again', 2);
    expect(performance.now() - killedAt).toBeGreaterThan(1_000);
  });

  it('does not delay a stop', async () => {
    appendFileSync(join(data(), 'postgresql.auto.conf'), 'no_such_setting_at_all = on\n');
    process.kill(postmasterPid(), 'SIGKILL');
    await untilLogged('could not be started again', 2);
    const startedAt = performance.now();
    await opened.stop();
    expect(performance.now() - startedAt).toBeLessThan(500);
    expect(processesNaming(data())).toEqual([]);
    writeFileSync(join(data(), 'postgresql.auto.conf'), '');
  });

  it('is not followed by a restart when a stop comes at the same moment', async () => {
    process.kill(postmasterPid(), 'SIGKILL');
    await untilLogged('is started again');
    await opened.stop();
    expect(processesNaming(data())).toEqual([]);
  });
});
