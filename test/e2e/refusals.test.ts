import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import { openEmbedded } from '../../src/embedded-postgres/open-embedded.js';
import { createLogger } from '../../src/logger.js';
import { preparedDataDir } from '../helpers/prepared-data.js';
import { cleanUp, newHome, processesOf, runToEnd, type Server, serve } from '../helpers/process.js';

let dataDir: string;

async function inDatabase<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
  const embedded = await openEmbedded({ dataDir, mode: 'use', logger: createLogger('silent') });
  const client = new pg.Client({ ...embedded.connection });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
    await embedded.stop();
  }
}

/** Every table with the number and a digest of its rows, and the files of DATA_DIR. */
function everything(): Promise<string[]> {
  return inDatabase(async (client) => {
    const tables = await client.query<{ name: string }>(
      `select tablename as name from pg_tables where schemaname = 'public' order by 1`,
    );
    const lines = readdirSync(dataDir).sort();
    for (const { name } of tables.rows) {
      const { rows } = await client.query<{ line: string }>(
        `select count(*) || ' ' || coalesce(md5(string_agg(t::text, '|' order by t::text)), '')
         as line from ${name} t`,
      );
      lines.push(`${name} ${rows[0]?.line}`);
    }
    return lines;
  });
}

function start(env: Record<string, string> = {}) {
  return runToEnd(['serve'], { dataDir, env });
}

async function stop(server: Server): Promise<void> {
  server.kill('SIGTERM');
  expect(await server.ended).toBe(0);
}

beforeAll(async () => {
  dataDir = await preparedDataDir();
  await stop(await serve({ dataDir }));
});
afterAll(cleanUp);

describe('a second Muster on the same DATA_DIR', () => {
  it('is refused with the number of the first, which goes on', async () => {
    const first = await serve({ dataDir });
    const second = await start();
    expect(second).toEqual({
      code: 1,
      output: `muster: ${dataDir} is in use by another Muster (process ${first.serverPid})\n`,
    });
    expect((await fetch(`${first.url}/readyz`)).status).toBe(200);
    await stop(first);
  });
});

describe('an address that cannot be listened on', () => {
  it('is named when the port is taken, before a database is set up', async () => {
    const holder = createServer();
    await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve));
    const address = holder.address();
    const port = String(typeof address === 'object' ? address?.port : undefined);
    const fresh = join(newHome(), 'data');
    const results = [fresh, dataDir].map((directory) =>
      runToEnd(['serve'], { dataDir: directory, env: { PORT: port } }),
    );
    const advice = 'choose another PORT, or end that program';
    const output = `muster: 127.0.0.1:${port} is in use by another program: ${advice}\n`;
    const refusal = { code: 1, output };
    expect(await Promise.all(results).finally(() => holder.close())).toEqual([refusal, refusal]);
    expect(readdirSync(fresh)).toEqual([]);
    expect(processesOf(dataDir)).toEqual([]);
  });

  it('is named when it is not of this machine, before a database is set up', async () => {
    const fresh = join(newHome(), 'data');
    const env = { HOST: '192.0.2.1', PORT: '8080' };
    const { code, output } = await runToEnd(['serve'], { dataDir: fresh, env });
    expect(code).toBe(1);
    expect(output).toBe('muster: 192.0.2.1:8080 is no address of this machine: change HOST\n');
    expect(readdirSync(fresh)).toEqual([]);
  });
});

describe('a master key that does not fit the database', () => {
  const refusal = /^muster: .*nothing was changed/im;

  it('is refused, changes nothing, and the right one starts again', async () => {
    const before = await everything();
    const wrong = await start({ MASTER_KEY: randomBytes(32).toString('base64') });
    expect(wrong.code).toBe(1);
    expect(wrong.output).toMatch(refusal);
    expect(await everything()).toEqual(before);
    expect(processesOf(dataDir)).toEqual([]);

    const right = readFileSync(join(dataDir, 'master.key'), 'utf8').trim();
    await stop(await serve({ dataDir, env: { MASTER_KEY: right } }));
  });

  it('is not made anew when its file is gone', async () => {
    const file = join(dataDir, 'master.key');
    const before = (await everything()).filter((line) => line !== 'master.key');
    renameSync(file, `${dataDir}.key`);
    const { code, output } = await start();
    expect(code).toBe(1);
    expect(output).toMatch(refusal);
    expect(output).toContain(file);
    expect(existsSync(file)).toBe(false);
    expect(await everything()).toEqual(before);

    renameSync(`${dataDir}.key`, file);
    await stop(await serve({ dataDir }));
  });
});

describe('a database newer than the program', () => {
  it('is refused by name and left as it is', async () => {
    const name = '29991231235959_from_the_future';
    await inDatabase((client) =>
      client.query(
        `insert into knex_migrations (name, batch, migration_time) values ('${name}', 99, now())`,
      ),
    );
    const before = await everything();
    const { code, output } = await start();
    expect(code).toBe(1);
    expect(output).toBe(
      `muster: The database is newer than this Muster: it has the migrations ${name}\n`,
    );
    expect(await everything()).toEqual(before);

    await inDatabase((client) =>
      client.query(`delete from knex_migrations where name = '${name}'`),
    );
    await stop(await serve({ dataDir }));
  });
});

describe('a bad configuration', () => {
  it('ends with exit code 2 and every problem at once, without the values', async () => {
    const home = newHome();
    const { code, output } = await runToEnd(['serve'], {
      dataDir: join(home, 'data'),
      env: {
        PORT: '70000',
        PUBLIC_URL: 'ftp://user:hunter2@example.org',
        ADMIN_TOKEN: 'short',
        MASTER_KEY: 'c2hvcnQ=',
        ENROLLMENT: 'sometimes',
        TLS_KEY_FILE: '/nowhere/key.pem',
      },
    });
    expect(code).toBe(2);
    for (const name of ['PORT', 'PUBLIC_URL', 'ADMIN_TOKEN', 'MASTER_KEY', 'ENROLLMENT']) {
      expect(output).toContain(`  ${name}: `);
    }
    expect(output).toContain('TLS_CERT_FILE: must be set too');
    for (const value of ['hunter2', 'short', 'c2hvcnQ=']) expect(output).not.toContain(value);
    expect(existsSync(join(home, 'data'))).toBe(false);
  });

  it('that names a missing certificate is reported before anything is created', async () => {
    const home = newHome();
    const missing = { TLS_CERT_FILE: '/nowhere/cert.pem', TLS_KEY_FILE: '/nowhere/key.pem' };
    const { code, output } = await runToEnd(['serve'], {
      dataDir: join(home, 'data'),
      env: missing,
    });
    expect(code).toBe(2);
    expect(output).toContain('  TLS_CERT_FILE: ENOENT');
    expect(output).toContain('  TLS_KEY_FILE: ENOENT');
    expect(existsSync(join(home, 'data'))).toBe(false);
  });

  it('names the database that does not answer', async () => {
    const { code, output } = await start({
      DATABASE_URL: 'postgresql://muster:hunter2@127.0.0.1:1/muster',
    });
    expect(code).toBe(1);
    expect(output).toContain('The database 127.0.0.1:1/muster cannot be reached (DATABASE_URL)');
    expect(output).not.toContain('hunter2');
    expect(output).not.toContain('    at ');
  });
});
