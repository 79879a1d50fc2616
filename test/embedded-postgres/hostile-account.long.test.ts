import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { type EmbeddedDatabase, openEmbedded } from '../../src/embedded-postgres/open-embedded.js';
import { createLogger } from '../../src/logger.js';
import { removeTemporaryDirectories, temporaryDirectory } from '../helpers/temporary-directory.js';

/**
 * What the account that runs PostgreSQL can do to its own files while Muster is stopped. Under root
 * each case is an attack on root; an ordinary user meets the same files as accidents.
 */
const logger = createLogger('silent');
const IS_ROOT = process.getuid?.() === 0;
/** An ordinary user, who exists on every system. */
const OTHER = 1;
const SECRET = 'root:$6$secret:19000:0:99999:7:::\n';

let dataDir: string;
let victims: string;
let opened: EmbeddedDatabase | undefined;
const helpers: ChildProcess[] = [];

async function open(directory = dataDir): Promise<EmbeddedDatabase> {
  opened = await openEmbedded({ dataDir: directory, logger, mode: 'serve' });
  return opened;
}

const home = (...names: string[]) => join(dataDir, 'postgres', ...names);

function victimFile(name: string): string {
  const path = join(victims, name);
  writeFileSync(path, SECRET, { mode: 0o600 });
  return path;
}

/** Created by the account itself, so that its permissions do not matter. */
function makeFifo(path: string): void {
  expect(spawnSync('mkfifo', [path]).status).toBe(0);
  const { uid, gid } = statSync(dirname(path));
  chownSync(path, uid, gid);
}

function state(path: string): object {
  const { uid, gid, mode } = statSync(path);
  return { uid, gid, mode, content: lstatSync(path).isFile() && readFileSync(path, 'utf8') };
}

/** Puts `plant` where the account's file was for the time of `work`. */
async function replaced(path: string, plant: () => void, work: () => Promise<void>) {
  const kept = `${path}.kept`;
  if (existsSync(path)) renameSync(path, kept);
  try {
    plant();
    await work();
  } finally {
    rmSync(path, { force: true, recursive: true });
    if (existsSync(kept)) renameSync(kept, path);
  }
}

async function messageOf(work: Promise<unknown>): Promise<string> {
  return await work.then(
    () => 'it started',
    (error: Error) => error.message,
  );
}

beforeAll(async () => {
  dataDir = join(temporaryDirectory(), 'data');
  victims = temporaryDirectory();
  await (await open()).stop();
});
afterEach(async () => {
  await opened?.stop();
  opened = undefined;
  for (const helper of helpers.splice(0)) helper.kill('SIGKILL');
});
afterAll(removeTemporaryDirectories);

describe("a start over files that PostgreSQL's account has replaced", () => {
  it('does not change the target of a link at the socket directory', async () => {
    const target = join(victims, 'etc');
    mkdirSync(target, { mode: 0o755 });
    const before = state(target);
    await replaced(
      home('run'),
      () => symlinkSync(target, home('run')),
      async () => {
        expect(await messageOf(open())).toContain(
          `${home('run')} is not a directory of its own: remove it and start again`,
        );
        expect(state(target)).toEqual(before);
      },
    );
  });

  it.each([
    ['symbolic', symlinkSync],
    ['hard', linkSync],
  ])('does not change the target of a %s link at the log', async (kind, link) => {
    const target = victimFile(`shadow-${kind}`);
    const before = state(target);
    await replaced(
      home('postgres.log'),
      () => link(target, home('postgres.log')),
      async () => {
        const message = await messageOf(open());
        expect(message).toContain(`${home('postgres.log')} cannot be written`);
        expect(message).toContain('remove it and start again');
        expect(state(target)).toEqual(before);
      },
    );
  });

  it.each([
    ['postgres.log', 'remove it and start again'],
    ['password', 'restore it from a backup and start again'],
    ['data/PG_VERSION', 'restore the database from a backup'],
    ['data/postmaster.pid', 'remove it and start again'],
  ])('refuses a FIFO at %s at once', async (name, step) => {
    await replaced(
      home(name),
      () => makeFifo(home(name)),
      async () => {
        const message = await messageOf(open());
        expect(message).toContain(`${home(name)} cannot be`);
        expect(message).toContain(step);
      },
    );
  });

  it('treats a FIFO at the lock of the data directory as a stale lock', async () => {
    makeFifo(join(dataDir, 'muster.lock'));
    await open();
    expect(lstatSync(join(dataDir, 'muster.lock')).isFile()).toBe(true);
  });

  it('does not overwrite the target of a link at the former log', async () => {
    const target = victimFile('former');
    const before = state(target);
    await replaced(
      home('postgres.log.1'),
      () => symlinkSync(target, home('postgres.log.1')),
      async () => {
        truncateSync(home('postgres.log'), 6 * 1024 * 1024);
        await open();
        expect(state(target)).toEqual(before);
        expect(lstatSync(home('postgres.log.1')).isFile()).toBe(true);
      },
    );
  });

  it.each(['password', 'data/PG_VERSION'])(
    'does not show what a link at %s leads to',
    async (name) => {
      const target = victimFile(name.replace('/', '-'));
      await replaced(
        home(name),
        () => symlinkSync(target, home(name)),
        async () => {
          const message = await messageOf(open());
          expect(message).not.toBe('it started');
          expect(message).not.toContain('secret');
        },
      );
    },
  );

  it('removes no socket of another server that its lock file names', async () => {
    const foreign = temporaryDirectory();
    const socket = join(foreign, '.s.PGSQL.5432');
    writeFileSync(socket, '');
    const lines = [process.ppid, home('data'), 1, 5432, foreign, '', '1 1', 'ready   ', ''];
    writeFileSync(home('data', 'postmaster.pid'), lines.join('\n'));
    await open();
    expect(existsSync(socket)).toBe(true);
  });

  it('stops no process of another user, whatever its title', async () => {
    await open();
    const { clusterName } = await clusterOf(dataDir);
    await opened?.stop();
    const other = spawn('sleep', ['30'], { argv0: clusterName });
    helpers.push(other);
    await open();
    expect(other.exitCode ?? other.signalCode).toBe(IS_ROOT ? null : 'SIGKILL');
  });

  it('reuses a socket directory in the temporary directory only while it owns it', async () => {
    const long = join(temporaryDirectory(), 'long'.repeat(25));
    const { host } = (await open(long)).connection;
    await opened?.stop();
    const target = join(victims, 'elsewhere');
    mkdirSync(target, { mode: 0o755 });
    const before = state(target);
    rmSync(host, { recursive: true });
    symlinkSync(target, host);
    expect((await open(long)).connection.host).not.toBe(host);
    expect(state(target)).toEqual(before);
    const second = opened?.connection.host ?? '';
    await opened?.stop();
    for (const path of [host, second]) rmSync(path, { recursive: true });
  });
});

describe('a data directory that another user owns', () => {
  it("is run as that user, and no link at the lock's draft is followed", async () => {
    const directory = join(temporaryDirectory(), 'data');
    mkdirSync(directory, { mode: 0o700 });
    if (IS_ROOT) chownSync(directory, OTHER, OTHER);
    const target = victimFile('lock');
    const before = state(target);
    symlinkSync(target, join(directory, `muster.lock.${process.pid}`));
    await open(directory);
    expect(state(target)).toEqual(before);
    const owner = statSync(directory).uid;
    for (const name of ['muster.lock', 'postgres', 'postgres/data', 'postgres/password']) {
      expect([name, statSync(join(directory, name)).uid]).toEqual([name, owner]);
    }
  });
});

describe('a pointer to a home elsewhere', () => {
  it('of another user does not change the owner of the directory that it names', async () => {
    const directory = join(temporaryDirectory(), 'data');
    const pointer = join(directory, 'postgres-directory');
    mkdirSync(directory, { mode: 0o700 });
    const target = join(temporaryDirectory(), 'etc');
    mkdirSync(target, { mode: 0o755 });
    writeFileSync(pointer, `${target}\n`);
    if (IS_ROOT) for (const path of [directory, pointer]) chownSync(path, OTHER, OTHER);
    const { uid, gid } = statSync(target);
    const message = await messageOf(open(directory));
    expect(statSync(target)).toMatchObject({ uid, gid });
    const refusal = `${pointer} was not written by root: remove it and start again`;
    expect(message).toBe(IS_ROOT ? refusal : 'it started');
  });
});

describe('a data directory of an earlier version', () => {
  it('starts despite files that root had made in the home of the cluster', async () => {
    await (await open()).stop();
    writeFileSync(home('postgres.log.1'), 'former', { mode: 0o600 });
    writeFileSync(home('socket-directory'), '/tmp/muster-gone\n', { mode: 0o600 });
    truncateSync(home('postgres.log'), 6 * 1024 * 1024);
    await open();
    expect(statSync(home('postgres.log.1')).size).toBeGreaterThan(5 * 1024 * 1024);
    const account = statSync(home('data')).uid;
    expect(statSync(home('postgres.log.1')).uid).toBe(account);
  });

  it('is returned to its account if root owns the home of the cluster', async () => {
    await (await open()).stop();
    const account = statSync(home('data')).uid;
    if (IS_ROOT) chownSync(home(), 0, 0);
    chmodSync(home(), 0o755);
    await open();
    expect(statSync(home())).toMatchObject({ uid: account });
    expect(statSync(home()).mode & 0o777).toBe(0o700);
    expect(dirname(home())).toBe(dataDir);
  });
});

async function clusterOf(directory: string): Promise<{ clusterName: string }> {
  const { openHome } = await import('../../src/embedded-postgres/cluster-home.js');
  return openHome(directory, logger);
}
