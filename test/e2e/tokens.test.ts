import { randomBytes } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { preparedDataDir } from '../helpers/prepared-data.js';
import { cleanUp, newHome, processesOf, runToEnd, type Server, serve } from '../helpers/process.js';
import { AdminClient, eventually, readAdminToken } from './admin-client.js';

const REVOKED_WITHIN_MS = 5_000;

let dataDir: string;
let server: Server;
const made: string[] = [];

function muster(...args: string[]) {
  return runToEnd(args, { dataDir });
}

async function createToken(name: string, role: string): Promise<string> {
  const { code, output } = await muster('token', 'create', '--name', name, '--role', role);
  expect({ code, output }).toEqual({
    code: 0,
    output: expect.stringMatching(/^\S+\nid \d+, role \w+, expires never; not shown again\n$/),
  });
  const token = output.split('\n')[0] ?? '';
  made.push(token);
  return token;
}

function statusOf(token: string, path = '/devices'): Promise<number> {
  return new AdminClient(server.url, token).call(path).then(({ status }) => status);
}

beforeAll(async () => {
  dataDir = await preparedDataDir();
  server = await serve({ dataDir });
});
afterAll(cleanUp);

describe('the token of the first start', () => {
  it('is in a file that only its owner can read, and works', async () => {
    expect(statSync(join(dataDir, 'admin-token')).mode & 0o777).toBe(0o600);
    expect(statSync(join(dataDir, 'master.key')).mode & 0o777).toBe(0o600);
    made.push(readAdminToken(dataDir));
    expect(await statusOf(readAdminToken(dataDir))).toBe(200);
    expect(server.output()).toContain(join(dataDir, 'admin-token'));
  });
});

describe('muster token, while the server runs', () => {
  it('makes a token that works at once, as Bearer and as a Basic password', async () => {
    const token = await createToken('script', 'admin');
    expect(await statusOf(token)).toBe(200);
    const basic = await fetch(`${server.url}/api/v1/devices`, {
      headers: { Authorization: `Basic ${Buffer.from(`anyone:${token}`).toString('base64')}` },
    });
    expect(basic.status).toBe(200);
  });

  it('lets a viewer only read', async () => {
    const viewer = new AdminClient(server.url, await createToken('looker', 'viewer'));
    expect((await viewer.call('/tags')).status).toBe(200);
    const tag = { data: { type: 'tags', attributes: { name: 'red' } } };
    expect((await viewer.call('/tags', tag)).status).toBe(403);
    expect((await viewer.call('/devices/1/clear_passcode')).status).toBe(403);
    expect((await viewer.call('/audit_events')).status).toBe(403);
  });

  it('lists tokens without their values', async () => {
    const { code, output } = await muster('token', 'list');
    expect(code).toBe(0);
    expect(output).toMatch(/^ID +NAME +ROLE +STATE +CREATED +EXPIRES +LAST USED\n/);
    expect(output).toMatch(/ script +admin +valid /);
    expect(output).toMatch(/ looker +viewer +valid /);
    for (const token of made) expect(output).not.toContain(token);
  });

  it('revokes a token in use, with an answer of 401 within 5 s', async () => {
    const token = await createToken('former', 'operator');
    expect(await statusOf(token)).toBe(200);
    const { code, output } = await muster('token', 'revoke', 'former');
    expect({ code, output }).toEqual({
      code: 0,
      output: expect.stringMatching(/^revoked \d+ former\n$/),
    });
    const limit = REVOKED_WITHIN_MS;
    await eventually(
      () => statusOf(token),
      (status) => status === 401,
      limit,
    );
  });

  it('says what is wrong with a wrong name or role, and exits with 1', async () => {
    const role = await muster('token', 'create', '--name', 'x', '--role', 'king');
    expect(role.code).toBe(1);
    expect(role.output).toMatch(/^muster: .*role must be one of viewer, operator, admin/);
    const name = await muster('token', 'revoke', 'nobody');
    expect({ ...name }).toEqual({ code: 1, output: expect.stringContaining('nobody') });
    expect(name.output).not.toContain('    at ');
  });

  it('shows the state of the schema', async () => {
    const { code, output } = await muster('migrate', '--status');
    expect(code).toBe(0);
    expect(output).toMatch(/^applied {2}20261121090000_first_schema\n/);
    expect(output).not.toContain('pending');
    expect(await muster('migrate')).toEqual({
      code: 0,
      output: 'nothing to do: the schema is up to date\n',
    });
  });
});

describe('muster token, while no server runs', () => {
  it('starts the database for a moment; the next server knows the token', async () => {
    server.kill('SIGTERM');
    expect(await server.ended).toBe(0);
    for (const token of made) expect(server.output()).not.toContain(token);

    const token = await createToken('night', 'viewer');
    expect(processesOf(dataDir)).toEqual([]);
    const { code, output } = await muster('migrate', '--status');
    expect(code).toBe(0);
    expect(output).toContain('applied  20261121090000_first_schema');
    expect(processesOf(dataDir)).toEqual([]);

    server = await serve({ dataDir });
    expect(await statusOf(token)).toBe(200);
  });

  it('works on a directory where no server ever ran', async () => {
    const fresh = join(newHome(), 'data');
    for (const option of ['--status', '--plan', '--rollback']) {
      expect(await runToEnd(['migrate', option], { dataDir: fresh })).toEqual({
        code: 1,
        output:
          `muster: There is no database in DATA_DIR (${fresh}), and DATABASE_URL is not set. Run muster migrate with ` +
          'the settings of the server: in its directory, where its .env is. Or start it: muster serve\n',
      });
    }
    expect(existsSync(fresh)).toBe(false);
    const migrated = await runToEnd(['migrate'], { dataDir: fresh });
    expect(migrated.code).toBe(0);
    expect(migrated.output).toMatch(/^applied {2}20261121090000_first_schema\n/);
    expect(processesOf(fresh)).toEqual([]);
  });
});

describe('ADMIN_TOKEN', () => {
  it('is valid as long as it is set, and is nowhere in the log', async () => {
    const token = randomBytes(24).toString('base64url');
    expect(await statusOf(token)).toBe(401);
    server.kill('SIGTERM');
    await server.ended;
    server = await serve({ dataDir, env: { ADMIN_TOKEN: token, LOG_LEVEL: 'trace' } });
    expect(await statusOf(token)).toBe(200);
    expect(await statusOf(token, '/audit_events')).toBe(200);
    expect(server.output()).not.toContain(token);
  });
});
