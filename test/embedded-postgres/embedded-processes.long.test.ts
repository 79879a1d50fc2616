import { join } from 'node:path';
import pg from 'pg';
import type { ConnectionSettings } from '../../src/db/connection/database.js';
import { readPostmaster } from '../../src/embedded-postgres/postmaster-pid.js';
import { processesNaming } from '../../src/embedded-postgres/processes.js';
import { type Child, killChildren, startTypeScript } from '../helpers/child-process.js';
import { removeTemporaryDirectories, temporaryDirectory } from '../helpers/temporary-directory.js';

const CHILD = join(__dirname, '..', 'helpers', 'embedded-child.ts');

let dataDir: string;

function start(mode: 'serve' | 'use', behaviour: string, detached = false): Child {
  return startTypeScript(CHILD, [dataDir, mode, behaviour], { detached });
}

async function ready(child: Child): Promise<ConnectionSettings> {
  return JSON.parse(await child.line('ready')) as ConnectionSettings;
}

/** The server's own process: its command line names the data directory. */
function clusterProcesses(): number[] {
  return processesNaming(join(dataDir, 'postgres', 'data')) ?? [];
}

async function until(condition: () => boolean): Promise<boolean> {
  for (let wait = 0; wait < 100 && !condition(); wait += 1) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return condition();
}

function gone(): Promise<boolean> {
  return until(() => clusterProcesses().length === 0);
}

async function query(connection: ConnectionSettings, text: string): Promise<unknown[]> {
  const client = new pg.Client({ ...connection });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

beforeAll(() => {
  dataDir = join(temporaryDirectory(), 'data');
});
afterEach(killChildren);
afterAll(async () => {
  const last = start('serve', 'stop');
  await last.ended;
  removeTemporaryDirectories();
});

describe('the embedded database of a process', () => {
  it('ends when the process stops it', async () => {
    const child = start('serve', 'stop');
    expect(await child.ended).toBe(0);
    expect(await ready(child)).toMatchObject({ user: 'muster', database: 'muster' });
    expect(clusterProcesses()).toEqual([]);
  });

  it('ends although the process did not stop it', async () => {
    const child = start('serve', 'end');
    expect(await child.ended).toBe(0);
    expect(await gone()).toBe(true);
  });

  it('ends when the process fails', async () => {
    const child = start('serve', 'throw');
    expect(await child.ended).toBe(1);
    expect(await child.line('failed')).toBe('thrown on purpose');
    expect(await gone()).toBe(true);
  });

  it('ends when an unhandled SIGTERM ends the process', async () => {
    const child = start('serve', 'hold');
    await ready(child);
    child.process.kill('SIGTERM');
    expect(await child.ended).toBe(143);
    expect(await gone()).toBe(true);
  });

  it('does not receive an interrupt of the process group', async () => {
    const child = start('serve', 'linger', true);
    await ready(child);
    process.kill(-child.pid, 'SIGINT');
    expect(await child.line('after-interrupt')).toBe('1');
    expect(await child.ended).toBe(0);
    expect(clusterProcesses()).toEqual([]);
  });

  it('is started again when it ends by itself, and still ends with the process', async () => {
    const child = start('serve', 'hold');
    const connection = await ready(child);
    const data = join(dataDir, 'postgres', 'data');
    const killed = readPostmaster(data)?.pid ?? 0;
    process.kill(killed, 'SIGKILL');
    await until(() => {
      const { pid, ready: isReady } = readPostmaster(data) ?? {};
      return isReady === true && pid !== killed;
    });
    expect(await query(connection, 'select 1 as n')).toEqual([{ n: 1 }]);
    child.process.kill('SIGTERM');
    expect(await child.ended).toBe(143);
    expect(await gone()).toBe(true);
  });
});

describe('a second process on the same directory', () => {
  it('is refused with the pid of the first when both serve', async () => {
    const first = start('serve', 'hold');
    await ready(first);
    const second = start('serve', 'stop');
    expect(await second.ended).toBe(1);
    expect(await second.line('failed')).toBe(
      `${dataDir} is in use by another Muster (process ${first.pid})`,
    );
    expect(clusterProcesses()).not.toEqual([]);
  });

  it('uses the running server and leaves it running', async () => {
    const first = start('serve', 'hold');
    const connection = await ready(first);
    const second = start('use', 'stop');
    expect(await second.ended).toBe(0);
    expect(await ready(second)).toEqual(connection);
    expect(await query(connection, 'select 1 as n')).toEqual([{ n: 1 }]);
  });

  it('starts PostgreSQL for its own duration when none runs', async () => {
    const child = start('use', 'stop');
    expect(await child.ended).toBe(0);
    expect(clusterProcesses()).toEqual([]);
  });

  it('serves as soon as a command that had started the server ends', async () => {
    const command = start('use', 'hold');
    await ready(command);
    const server = start('serve', 'stop');
    setTimeout(() => command.process.kill('SIGTERM'), 500);
    expect(await server.ended).toBe(0);
    expect(await command.ended).toBe(143);
  });
});

describe('after kill -9 of the process', () => {
  it('the next one has every row that was acknowledged', async () => {
    const killed = start('serve', 'insert');
    await killed.line('acknowledged 50');
    killed.process.kill('SIGKILL');
    expect(await killed.ended).toBe('SIGKILL');
    expect(clusterProcesses()).not.toEqual([]);

    const next = start('serve', 'hold');
    const connection = await ready(next);
    const last = Number(killed.lines.at(-1)?.split(' ')[1]);
    const rows = await query(connection, 'select count(*)::int, max(n) from acknowledged');
    expect(rows).toEqual([{ count: expect.any(Number), max: expect.any(Number) }]);
    const [{ count, max }] = rows as [{ count: number; max: number }];
    expect(count).toBe(max);
    // One more may have been committed without an answer.
    expect([last, last + 1]).toContain(max);
  });

  it('the next one starts when PostgreSQL was killed too', async () => {
    const killed = start('serve', 'hold');
    await ready(killed);
    killed.process.kill('SIGKILL');
    for (const pid of clusterProcesses()) process.kill(pid, 'SIGKILL');
    const next = start('serve', 'stop');
    expect(await next.ended).toBe(0);
    expect(await next.line('ready')).toContain('muster');
  });

  it('a command removes what was left and starts the server', async () => {
    const killed = start('serve', 'hold');
    await ready(killed);
    killed.process.kill('SIGKILL');
    await killed.ended;
    const command = start('use', 'stop');
    expect(await command.ended).toBe(0);
    expect(clusterProcesses()).toEqual([]);
  });
});
