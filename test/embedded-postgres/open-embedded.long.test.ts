import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import {
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { type EmbeddedDatabase, openEmbedded } from '../../src/embedded-postgres/open-embedded.js';
import { readPostmaster } from '../../src/embedded-postgres/postmaster-pid.js';
import { isZombie } from '../../src/embedded-postgres/processes.js';
import { createLogger } from '../../src/logger.js';
import { removeTemporaryDirectories, temporaryDirectory } from '../helpers/temporary-directory.js';

const logger = createLogger('silent');

let dataDir: string;
let opened: EmbeddedDatabase | undefined;
const helpers: ChildProcess[] = [];

async function open(directory = dataDir): Promise<EmbeddedDatabase> {
  opened = await openEmbedded({ dataDir: directory, logger, mode: 'serve' });
  return opened;
}

async function query(text: string): Promise<unknown[]> {
  const client = new pg.Client({ ...opened?.connection });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

async function setting(name: string): Promise<unknown> {
  const rows = (await query(`select current_setting('${name}') as value`)) as { value: string }[];
  return rows[0]?.value;
}

/** The file that PostgreSQL would have left, with another process's number in it. */
function leavePostmasterFile(pid: number): void {
  const run = join(dataDir, 'postgres', 'run');
  const lines = [pid, join(dataDir, 'postgres', 'data'), 1, 5432, run, '', '1 1', 'ready   ', ''];
  const path = join(dataDir, 'postgres', 'data', 'postmaster.pid');
  writeFileSync(path, lines.join('\n'));
  writeFileSync(join(run, '.s.PGSQL.5432.lock'), lines.join('\n'));
}

/** Run by PostgreSQL's account, since only its own processes count. */
function asPostgres(command: string): ChildProcess {
  const { uid, gid } = statSync(join(dataDir, 'postgres', 'data'));
  const helper = spawn('sh', ['-c', command], { uid, gid, cwd: '/' });
  helpers.push(helper);
  return helper;
}

async function zombie(): Promise<number> {
  // It ends after its parent has become `sleep 30`, which never reads its exit status, as a shell would.
  const parent = asPostgres('sleep 0.5 & echo $!; exec sleep 30');
  const pid = await new Promise<number>((resolve) => {
    parent.stdout?.once('data', (text: Buffer) => resolve(Number(text.toString())));
  });
  while (!isZombie(pid)) await new Promise((resolve) => setTimeout(resolve, 10));
  return pid;
}

beforeAll(() => {
  dataDir = join(temporaryDirectory(), 'data');
});
afterEach(async () => {
  await opened?.stop();
  opened = undefined;
  for (const helper of helpers.splice(0)) helper.kill('SIGKILL');
});
afterAll(removeTemporaryDirectories);

describe('the embedded database', () => {
  it('listens on a unix socket in a private directory and nowhere else', async () => {
    const { connection } = await open();
    expect(connection.host).toBe(join(dataDir, 'postgres', 'run'));
    expect(statSync(connection.host).mode & 0o777).toBe(0o700);
    expect(await setting('listen_addresses')).toBe('');
  });

  it('keeps its password and its data unreadable for others', async () => {
    await open();
    const mode = (name: string) => statSync(join(dataDir, 'postgres', name)).mode & 0o777;
    expect([mode('password'), mode('data'), mode('postgres.log')]).toEqual([0o600, 0o700, 0o600]);
  });

  it('refuses a wrong password', async () => {
    const { connection } = await open();
    const client = new pg.Client({ ...connection, password: 'wrong' });
    await expect(client.connect()).rejects.toMatchObject({ code: '28P01' });
  });

  it('is durable, in UTF-8, and sorts by code point', async () => {
    await open();
    expect(await setting('synchronous_commit')).toBe('on');
    expect(await setting('fsync')).toBe('on');
    expect(await setting('server_encoding')).toBe('UTF8');
    const rows = await query("select lower('ÀÉ') as lower, 'Z' < 'a' as by_code_point");
    expect(rows).toEqual([{ lower: 'àé', by_code_point: true }]);
  });

  it('does not hand the environment of Muster to PostgreSQL', async () => {
    await open();
    const { pid } = readPostmaster(join(dataDir, 'postgres', 'data')) ?? { pid: 0 };
    const shown = spawnSync('ps', ['eww', '-o', 'command=', '-p', String(pid)]);
    expect(shown.stdout.toString()).not.toContain('NODE_ENV');
  });

  it('writes no values of failed statements to its log', async () => {
    await open();
    await query('create table if not exists secrets (value text primary key)');
    await query("insert into secrets values ('hunter2') on conflict do nothing");
    await expect(query("insert into secrets values ('hunter2')")).rejects.toThrow('duplicate key');
    const log = readFileSync(join(dataDir, 'postgres', 'postgres.log'), 'utf8');
    expect(log).toContain('ready to accept connections');
    expect(log).not.toContain('hunter2');
  });

  it('keeps its data over a restart, with the same password', async () => {
    const first = await open();
    await query('create table kept as select 1 as n');
    await first.stop();
    const second = await open();
    expect(second.connection).toEqual(first.connection);
    expect(await query('select n from kept')).toEqual([{ n: 1 }]);
  });

  it('starts although its lock files name a process of another program', async () => {
    await (await open()).stop();
    leavePostmasterFile(asPostgres('exec sleep 30').pid ?? 0);
    await open();
    expect(await query('select 1 as n')).toEqual([{ n: 1 }]);
  });

  it('starts although its lock files name a zombie', async () => {
    await (await open()).stop();
    leavePostmasterFile(await zombie());
    await open();
    expect(await query('select 1 as n')).toEqual([{ n: 1 }]);
  });

  it('removes what an interrupted first start has left', async () => {
    const directory = join(temporaryDirectory(), 'data');
    mkdirSync(join(directory, 'postgres', 'data.new.1'), { recursive: true });
    writeFileSync(join(directory, 'postgres', 'data.new.1', 'PG_VERSION'), '18\n');
    // As initdb makes it: by the account that runs PostgreSQL.
    const { uid, gid } = statSync(join(dataDir, 'postgres', 'data'));
    for (const name of ['data.new.1', 'data.new.1/PG_VERSION']) {
      chownSync(join(directory, 'postgres', name), uid, gid);
    }
    await open(directory);
    expect(readdirSync(join(directory, 'postgres')).sort()).toEqual([
      'data',
      'password',
      'postgres.log',
      'run',
    ]);
  });

  it('uses a short directory for its socket when the path is too long, and keeps it', async () => {
    const directory = join(temporaryDirectory(), 'long'.repeat(25));
    const first = await open(directory);
    const { host } = first.connection;
    expect(Buffer.byteLength(host)).toBeLessThan(60);
    expect(statSync(host).mode & 0o777).toBe(0o700);
    await first.stop();
    expect((await open(directory)).connection.host).toBe(host);
    await opened?.stop();
    spawnSync('rm', ['-r', host]);
  });

  it('is refused when another major version made the data', async () => {
    const directory = join(temporaryDirectory(), 'data');
    const data = join(directory, 'postgres', 'data');
    mkdirSync(data, { recursive: true });
    writeFileSync(join(data, 'PG_VERSION'), '13\n');
    await expect(open(directory)).rejects.toThrow(
      `${data} was made by PostgreSQL 13, this program has 18`,
    );
    expect(existsSync(join(directory, 'muster.lock'))).toBe(false);
  });

  it('is refused when its files were kept elsewhere and are missing', async () => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, 'postgres-directory'), '/nowhere/muster\n');
    await expect(open(directory)).rejects.toThrow('is kept in /nowhere/muster, which is missing');
  });

  it('reports the last log lines of PostgreSQL when it does not start', async () => {
    const directory = join(temporaryDirectory(), 'data');
    const settings = { shared_buffers: 'many' };
    await expect(
      openEmbedded({ dataDir: directory, logger, mode: 'serve', settings }),
    ).rejects.toThrow(/did not start: .*shared_buffers/);
  });
});
