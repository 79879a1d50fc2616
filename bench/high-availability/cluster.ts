import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { makeBenchDirectory } from '../load/bench-directory.js';

const FILES = join(__dirname, '..', '..', 'deploy', 'high-availability');
const OCTETS = ['11', '12', '13'];
const START_MS = 60_000;
const PASSWORD = 'change-me-1';

/** One database machine: Patroni, and the PostgreSQL that it starts. */
export interface Member {
  name: string;
  address: string;
}

type Role = 'master' | 'replica' | 'sync_standby' | 'none';

/**
 * The files of `deploy/high-availability` as they are, but for the network, which is 127.0.0.x here,
 * and the directories: three etcd, two PostgreSQL with Patroni, HAProxy before them.
 */
export class Cluster {
  readonly members: readonly Member[] = [
    { name: 'db1', address: '127.0.0.11' },
    { name: 'db2', address: '127.0.0.12' },
  ];
  readonly #directory = makeBenchDirectory('muster-ha-');
  readonly #children = new Map<string, ChildProcess>();
  readonly #account = accountFor('postgres');

  /** Behind HAProxy: an empty database of a role that owns it and no more. */
  readonly databaseUrl = 'postgresql://muster:muster@127.0.0.1:5000/muster';

  async start(): Promise<void> {
    chownSync(this.#directory, this.#account.uid, this.#account.gid);
    for (const index of [0, 1, 2]) this.#startEtcd(index);
    this.startMember(this.#first);
    await this.#until('db1 is the primary', async () => (await this.primary())?.name === 'db1');
    this.startMember(this.#second);
    await this.untilSynchronous();
    this.#launch('haproxy', 'haproxy', ['-db', '-f', this.#write('haproxy.cfg', 0)]);
    await this.#createDatabase();
  }

  get #first(): Member {
    return this.members[0] as Member;
  }

  get #second(): Member {
    return this.members[1] as Member;
  }

  startMember({ name }: Member): void {
    const index = this.members.findIndex((member) => member.name === name);
    this.#launch(name, 'patroni', [this.#write('patroni.yml', index)]);
  }

  /** Members whose Patroni has ended. */
  lost(): Member[] {
    return this.members.filter(({ name }) => this.#children.get(name)?.signalCode != null);
  }

  async primary(): Promise<Member | undefined> {
    for (const member of this.members) {
      if ((await this.#roleOf(member)) === 'master') return member;
    }
    return undefined;
  }

  /** Resolves when the standby holds every commit that is answered. */
  async untilSynchronous(): Promise<void> {
    await this.#until('a standby is synchronous', async () => {
      const roles = await Promise.all(this.members.map((member) => this.#roleOf(member)));
      return roles.includes('master') && roles.includes('sync_standby');
    });
  }

  /** kill -9 of Patroni and of its PostgreSQL, as when the machine is lost. */
  async killMachine(member: Member): Promise<void> {
    const postmaster = this.#postmasterOf(member);
    const patroni = this.#children.get(member.name);
    const ended = patroni === undefined ? undefined : once(patroni, 'exit');
    patroni?.kill('SIGKILL');
    process.kill(postmaster, 'SIGKILL');
    await ended;
  }

  /** kill -9 of PostgreSQL alone; Patroni starts it again or has the standby take over. */
  killPostmaster(member: Member): void {
    process.kill(this.#postmasterOf(member), 'SIGKILL');
  }

  async stop(): Promise<void> {
    for (const name of ['haproxy', 'db2', 'db1', 'etcd3', 'etcd2', 'etcd1']) {
      const child = this.#children.get(name);
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) continue;
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    }
    rmSync(this.#directory, { recursive: true, force: true });
  }

  #startEtcd(index: number): void {
    const text = readFileSync(this.#write('etcd', index), 'utf8');
    const settings = [...text.matchAll(/^(ETCD_\w+)="(.*)"$/gm)].map(([, key, value]) => [
      key,
      value,
    ]);
    this.#launch(`etcd${index + 1}`, 'etcd', [], Object.fromEntries(settings));
  }

  /** The file as the machine with this index has it. Returns its path. */
  #write(file: string, index: number): string {
    const home = join(this.#directory, `db${index + 1}`);
    mkdirSync(join(home, 'run'), { recursive: true });
    for (const path of [home, join(home, 'run')]) {
      chownSync(path, this.#account.uid, this.#account.gid);
    }
    const own = `10.0.0.${OCTETS[index]}`;
    const text = readFileSync(join(FILES, file), 'utf8')
      .replaceAll(/^(.*(?:listen|LISTEN|connect_address|ADVERTISE).*)10\.0\.0\.11/gm, `$1${own}`)
      .replaceAll(/^(name: |ETCD_NAME=")db1/gm, `$1db${index + 1}`)
      .replaceAll('10.0.0.0/24', '127.0.0.0/8')
      .replaceAll('10.0.0.', '127.0.0.')
      .replaceAll('/var/lib/postgresql/15/muster', join(home, 'data'))
      .replaceAll('/var/lib/etcd/muster', join(home, 'etcd-data'))
      .replaceAll('/var/run/postgresql', join(home, 'run'));
    const path = join(home, file);
    writeFileSync(path, text);
    return path;
  }

  #launch(name: string, program: string, args: string[], env: NodeJS.ProcessEnv = {}): void {
    const log = process.env.BENCH_LOGS === undefined ? 'ignore' : 'inherit';
    const child = spawn(program, args, {
      ...this.#account,
      cwd: this.#directory,
      stdio: ['ignore', log, log],
      env: { ...process.env, HOME: this.#directory, PATH: `${process.env.PATH}:/usr/sbin`, ...env },
    });
    child.on('error', (error) => {
      process.stderr.write(`${program}: ${error.message}; see bench/high-availability.ts\n`);
    });
    this.#children.set(name, child);
  }

  async #roleOf({ address }: Member): Promise<Role> {
    const signal = AbortSignal.timeout(2_000);
    const reply = await fetch(`http://${address}:8008/patroni`, { signal }).catch(() => undefined);
    if (reply === undefined) return 'none';
    const state = (await reply.json()) as { state: string; role: Role; sync_standby?: boolean };
    if (state.state !== 'running') return 'none';
    return state.sync_standby === true ? 'sync_standby' : state.role;
  }

  #postmasterOf({ name }: Member): number {
    const file = join(this.#directory, name, 'data', 'postmaster.pid');
    return Number(readFileSync(file, 'utf8').split('\n', 1)[0]);
  }

  async #createDatabase(): Promise<void> {
    const connectionString = `postgresql://postgres:${PASSWORD}@127.0.0.1:5000/postgres`;
    // A new HAProxy takes each of its servers for the primary until it has checked them twice.
    await this.#until('HAProxy leads to the primary', async () => {
      await runStatements(connectionString, [
        'drop database if exists muster',
        'drop role if exists muster',
        `create role muster login password 'muster'`,
        'create database muster owner muster',
      ]);
      return true;
    });
  }

  async #until(what: string, isSo: () => Promise<boolean>): Promise<void> {
    const end = Date.now() + START_MS;
    while (!(await isSo().catch(() => false))) {
      if (Date.now() > end) throw new Error(`not within ${START_MS / 1000} s: ${what}`);
      await sleep(200);
    }
  }
}

/** PostgreSQL and Patroni refuse to run as root. */
function accountFor(user: string): { uid: number; gid: number } {
  const [uid = 0, gid = 0] = [process.getuid?.(), process.getgid?.()];
  if (uid !== 0) return { uid, gid };
  const id = (flag: string) => Number(execFileSync('id', [flag, user], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

async function runStatements(connectionString: string, texts: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString });
  client.on('error', () => undefined);
  await client.connect();
  try {
    for (const text of texts) await client.query(text);
  } finally {
    await client.end();
  }
}
