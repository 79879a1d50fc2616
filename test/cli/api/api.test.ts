import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { type ApiOptions, api } from '../../../src/cli/api/api.js';
import { apiUrl, typeAt } from '../../../src/cli/api/api-request.js';
import { UsageError } from '../../../src/cli/options.js';
import { AppError } from '../../../src/errors.js';
import { ADMIN_TOKEN, startApp, type TestApp } from '../../helpers/app.js';
import {
  removeTemporaryDirectories,
  temporaryDirectory,
} from '../../helpers/temporary-directory.js';

let app: TestApp;

beforeAll(async () => {
  app = await startApp();
});
afterAll(async () => {
  removeTemporaryDirectories();
  await app.stop();
});
afterEach(() => app.db.knex('tags').delete());

interface Ran {
  code: number;
  out: string;
  err: string;
}

interface Setting {
  stdin?: string;
  adminToken?: string | undefined;
  dataDir?: string;
}

async function run(
  [method, path]: [string, string],
  options: ApiOptions = {},
  setting: Setting = {},
): Promise<Ran> {
  const { stdin = '', dataDir = '/nonexistent' } = setting;
  const adminToken = 'adminToken' in setting ? setting.adminToken : ADMIN_TOKEN;
  const text = { out: '', err: '' };
  const code = await api([method, path], options, {
    out: { write: (part) => (text.out += String(part)) },
    err: { write: (part) => (text.err += part) },
    stdin: Readable.from([Buffer.from(stdin)]),
    config: () => ({ publicUrl: app.url, adminToken, dataDir }),
  });
  return { code, ...text };
}

/** The code and message of the error that the command ends with. */
function failure(...given: Parameters<typeof run>): Promise<[string, string]> {
  return run(...given).then(
    () => ['none', ''],
    (error: unknown) => {
      if (error instanceof AppError) return [error.code, error.message];
      if (error instanceof UsageError) return ['usage', error.message];
      throw error;
    },
  );
}

function dataOf({ out }: Ran) {
  return (JSON.parse(out) as { data: { id: number; type: string; attributes: object } }).data;
}

describe('muster api', () => {
  it('prints a document so that people can read it', async () => {
    const { code, out, err } = await run(['get', '/tags']);
    expect([code, err]).toEqual([0, '']);
    expect(out).toMatch(/^\{\n {2}"data": \[\],\n/);
    expect(out.endsWith('}\n')).toBe(true);
  });

  it('prints what came with --raw, and status and headers where asked', async () => {
    const raw = await run(['GET', '/api/v1/tags'], { raw: true });
    expect(raw.out).toMatch(/^\{"data":\[\],/);
    const { out } = await run(['GET', 'tags'], { raw: true, includeHeaders: true });
    expect(out).toMatch(/^200 OK\n/);
    expect(out).toContain('\ncontent-type: application/vnd.api+json\n');
    expect(out.split('\n\n')[1]).toBe(raw.out);
    const head = await run(['HEAD', '/tags']);
    expect([head.code, head.out.startsWith('200 OK\n')]).toEqual([0, true]);
  });

  it('prints the errors of a refusal, and fails', async () => {
    const { code, out, err } = await run(['GET', '/tags/999999']);
    expect([code, err]).toEqual([1, 'muster: 404 Not Found\n']);
    expect(JSON.parse(out)).toMatchObject({ errors: [{ code: 'not_found' }] });
    const wrong = await run(['GET', '/tags'], { token: 'wrong' });
    expect([wrong.code, wrong.err]).toEqual([1, 'muster: 401 Unauthorized\n']);
  });

  it('creates, changes and deletes with fields', async () => {
    const made = await run(['POST', '/tags'], { field: ['name=a = b', 'color=ff0000'] });
    expect(made.code).toBe(0);
    const { id } = dataOf(made);
    expect(dataOf(made)).toMatchObject({
      type: 'tags',
      attributes: { name: 'a = b', color: 'ff0000' },
    });
    const changed = await run(['PATCH', `/tags/${id}`], { field: ['color:="00ff00"'] });
    expect([changed.code, dataOf(changed).attributes]).toEqual([
      0,
      expect.objectContaining({ name: 'a = b', color: '00ff00' }),
    ]);
    expect(await run(['DELETE', `/tags/${id}`])).toEqual({ code: 0, out: '', err: '' });
  });

  it('takes a field from a file', async () => {
    const file = join(temporaryDirectory(), 'name');
    writeFileSync(file, 'name of a file');
    const made = await run(['POST', '/tags'], { field: [`name=@${file}`] });
    expect([made.code, dataOf(made).attributes]).toEqual([
      0,
      expect.objectContaining({ name: 'name of a file' }),
    ]);
    expect((await run(['DELETE', `/tags/${dataOf(made).id}`])).code).toBe(0);
  });

  it('writes settings with fields of other kinds than text', async () => {
    const { code, out } = await run(['PATCH', '/configuration/scep'], {
      field: ['key_size:=4096', 'challenge_enabled:=false', 'subject=O=Acme/CN=x'],
    });
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      data: { attributes: { key_size: 4096, challenge_enabled: false, subject: 'O=Acme/CN=x' } },
    });
  });

  it('sends the body of an argument, a file or standard input', async () => {
    const body = (name: string) => JSON.stringify({ data: { type: 'tags', attributes: { name } } });
    const file = join(temporaryDirectory(), 'body.json');
    writeFileSync(file, body('of a file'));
    const runs = [
      await run(['POST', '/tags'], { data: body('of an argument') }),
      await run(['POST', '/tags'], { data: `@${file}` }),
      await run(['POST', '/tags'], { data: '-' }, { stdin: body('of standard input') }),
    ];
    expect(runs.map(({ code }) => code)).toEqual([0, 0, 0]);
    expect(await app.db.knex('tags').orderBy('id').pluck('name')).toEqual([
      'of an argument',
      'of a file',
      'of standard input',
    ]);
  });

  it('sends headers', async () => {
    const { code, err } = await run(['PATCH', '/configuration/organization'], {
      field: ['x509_c=DE'],
      header: ['If-Match: "stale.tag"'],
    });
    expect([code, err]).toEqual([1, 'muster: 412 Precondition Failed\n']);
  });

  it('takes query parameters as people type them', async () => {
    await app.db.knex('tags').insert([{ name: '100% a' }, { name: 'b#1' }, { name: 'c' }]);
    const names = async (path: string) =>
      ((await run(['GET', path], { all: true })).out.match(/"name":"[^"]*"/g) ?? []).map((text) =>
        text.slice(8, -1),
      );
    expect(await names('/tags?page[size]=2&sort=-name&fields[tags]=name')).toEqual([
      'c',
      'b#1',
      '100% a',
    ]);
    expect(await names('/tags?filter=[{"name":"name","op":"ilike","val":"100% A%"}]')).toEqual([
      '100% a',
    ]);
    expect(await names('/tags?filter[name]=b#1')).toEqual(['b#1']);
  });

  it('prints every page with --all, one resource a line', async () => {
    const tags = Array.from({ length: 7 }, (_, index) => ({ name: `tag ${index}` }));
    await app.db.knex('tags').insert(tags);
    const { code, out } = await run(['GET', '/tags?page[size]=3&sort=id'], { all: true });
    const lines = out.trimEnd().split('\n');
    expect([code, lines.length]).toEqual([0, 7]);
    expect(lines.map((line) => JSON.parse(line).attributes.name)).toEqual(
      tags.map(({ name }) => name),
    );
    const refused = await run(['GET', '/tags?page[size]=0'], { all: true });
    expect([refused.code, refused.err]).toEqual([1, 'muster: 400 Bad Request\n']);
  });

  it('reads the token of the data directory, or says what to do', async () => {
    const dataDir = temporaryDirectory();
    const setting = { adminToken: undefined, dataDir };
    const [code, message] = await failure(['GET', '/tags'], {}, setting);
    expect(code).toBe('unauthorized');
    expect(message).toContain(`no token: ${join(dataDir, 'admin-token')} does not exist`);
    expect(message).toContain('--token');
    writeFileSync(join(dataDir, 'admin-token'), `${ADMIN_TOKEN}\n`);
    expect((await run(['GET', '/tags'], {}, setting)).code).toBe(0);
  });

  it('says what is wrong where no server answers, and with its options', async () => {
    const url = 'http://127.0.0.1:9';
    expect(await failure(['GET', '/tags'], { url })).toEqual([
      'unavailable',
      `nothing listens at ${url}: is the server running? (--url names another)`,
    ]);
    const cases: [ApiOptions, RegExp][] = [
      [{ data: '{}', field: ['a=b'] }, /either --data or --field/],
      [{ field: ['a'] }, /a is neither name=text, name=@FILE nor name:=JSON/],
      [{ field: ['a:=x'] }, /a is not valid JSON/],
      [{ field: ['a=@/nonexistent/file'] }, /\/nonexistent\/file cannot be read/],
      [{ data: '@/nonexistent/file' }, /\/nonexistent\/file cannot be read/],
      [{ header: ['nonsense'] }, /nonsense is no header/],
      [{ all: true }, /--all is for GET/],
    ];
    for (const [options, pattern] of cases) {
      expect((await failure(['POST', '/tags'], options))[1]).toMatch(pattern);
    }
  });
});

describe('muster api --table', () => {
  const rows = (out: string) => out.trimEnd().split('\n');

  beforeEach(async () => {
    await app.db.knex('tags').insert([
      { name: 'Kiosk', color: '336699' },
      { name: 'Lobby\u001b[31m', color: '000000' },
    ]);
  });

  it('prints a list as one row a resource, the id first', async () => {
    const ids = await app.db.knex('tags').orderBy('id').pluck('id');
    const { code, out, err } = await run(['GET', '/tags?sort=id&fields[tags]=color,name'], {
      table: true,
    });
    expect([code, err]).toEqual([0, '']);
    expect(rows(out).map((line) => line.split(/ {2,}/))).toEqual([
      ['ID', 'NAME', 'COLOR'],
      [`${ids[0]}`, 'Kiosk', '336699'],
      [`${ids[1]}`, 'Lobby [31m', '000000'],
    ]);
  });

  it('prints the columns that were asked for, in their order', async () => {
    const options = { table: true, columns: ['color', 'name'] };
    const { out } = await run(['GET', '/tags?sort=id'], options);
    expect(rows(out)).toEqual(['COLOR   NAME', '336699  Kiosk', '000000  Lobby [31m']);
  });

  it('leaves out what does not fit the width', async () => {
    const { out } = await run(['GET', '/tags'], { table: true });
    expect(Math.max(...rows(out).map((line) => line.length))).toBeLessThanOrEqual(120);
    expect(rows(out)[0]).toMatch(/^ID +NAME/);
  });

  it('prints a single resource as one row an attribute', async () => {
    const id = await app.db.knex('tags').where({ name: 'Kiosk' }).first('id');
    const { code, out } = await run(['GET', `/tags/${id?.id}`], { table: true });
    expect(code).toBe(0);
    expect(rows(out).map((line) => line.split(/ {2,}/))).toEqual(
      expect.arrayContaining([
        ['ATTRIBUTE', 'VALUE'],
        ['id', `${id?.id}`],
        ['name', 'Kiosk'],
        ['color', '336699'],
      ]),
    );
    const some = await run(['GET', `/tags/${id?.id}`], { table: true, columns: ['color'] });
    expect(rows(some.out)).toEqual(['ATTRIBUTE  VALUE', 'color      336699']);
  });

  it('prints one table for every page with --all', async () => {
    const options = { table: true, all: true, columns: ['name'] };
    const { out } = await run(['GET', '/tags?page[size]=1&sort=id'], options);
    expect(rows(out)).toEqual(['NAME', 'Kiosk', 'Lobby [31m']);
  });

  it('follows a path into included resources', async () => {
    const tag = await app.db.knex('tags').where({ name: 'Kiosk' }).first('id');
    const made = await run(['POST', '/devices'], {
      data: JSON.stringify({
        data: {
          type: 'devices',
          attributes: { udid: 'table-1', serial_number: 'TABLE1' },
          relationships: { tags: { data: [{ type: 'tags', id: tag?.id }] } },
        },
      }),
    });
    expect(made.code).toBe(0);
    const options = { table: true, columns: ['serial_number', 'tags.name'] };
    const { out } = await run(['GET', '/devices?filter[udid]=table-1&include=tags'], options);
    expect(rows(out)).toEqual(['SERIAL_NUMBER  TAGS.NAME', 'TABLE1         Kiosk']);
    await app.db.knex('devices').delete();
  });

  it('says that a list is empty', async () => {
    const { code, out } = await run(['GET', '/tags?filter[name]=none'], {
      table: true,
      columns: ['name'],
    });
    expect([code, out]).toEqual([0, 'nothing found\n']);
  });

  it.each([{}, { all: true }])(
    'refuses an unknown column of an empty list with %j',
    async (more) => {
      const options = { table: true, columns: ['id', 'device_nam'], ...more };
      const [code, message] = await failure(['GET', '/devices?filter[udid]=none'], options);
      expect(code).toBe('usage');
      expect(message).toMatch(/^there is no column "device_nam": there are device_name, /);
      expect(message).toMatch(
        / and others; without --columns those that fit are shown, without --table all$/,
      );
      expect(message.length).toBeLessThan(200);
    },
  );

  it('prints the heading alone for an empty list of a type that it does not know', async () => {
    const [row] = await app.db.knex('devices').insert({ udid: 'untagged' }).returning('id');
    const path = `/devices/${row.id}/relationships/tags`;
    const { code, out } = await run(['GET', path], { table: true, columns: ['type', 'id'] });
    expect([code, out]).toEqual([0, 'TYPE  ID\n']);
    await app.db.knex('devices').delete();
  });

  it('prints errors as JSON, as without it', async () => {
    const { code, out, err } = await run(['GET', '/tags/999999'], { table: true });
    expect([code, err]).toEqual([1, 'muster: 404 Not Found\n']);
    expect(JSON.parse(out)).toMatchObject({ errors: [{ code: 'not_found' }] });
    const refused = await run(['GET', '/tags?page[size]=0'], { table: true, all: true });
    expect([refused.code, refused.err]).toEqual([1, 'muster: 400 Bad Request\n']);
  });

  it('prints answers without resources as JSON', async () => {
    const { code, out } = await run(['GET', '/openapi.json'], { table: true });
    expect([code, Object.keys(JSON.parse(out) as object)]).toEqual([
      0,
      expect.arrayContaining(['openapi', 'paths']),
    ]);
    const made = await run(['DELETE', '/tags/1'], { table: true });
    expect(made.err === '' ? made.out : '').toBe('');
  });

  it('refuses columns that no resource has, and options that exclude each other', async () => {
    const columns = ['name', 'colour'];
    const [code, message] = await failure(['GET', '/tags'], { table: true, columns });
    expect(code).toBe('usage');
    expect(message).toMatch(/^there is no column "colour": there are color, /);
    expect(message).toMatch(
      /, id; without --columns those that fit are shown, without --table all$/,
    );
    expect((await failure(['GET', '/tags'], { columns }))[1]).toBe('--columns goes with --table');
    expect((await failure(['GET', '/tags'], { table: true, raw: true }))[1]).toBe(
      'use either --table or --raw',
    );
  });
});

describe('the type at a path', () => {
  it.each([
    ['/tags', 'tags'],
    ['tags/7', 'tags'],
    ['/api/v1/devices/7/', 'devices'],
    ['/devices/7/tags?x=1', 'tags'],
    ['/configuration/scep', undefined],
    ['/devices/test/7', undefined],
    ['/nothing', undefined],
  ])('%s is %s', (path, type) => {
    expect(typeAt(path)).toBe(type);
  });
});

describe('the address of a path', () => {
  it.each([
    ['http://localhost:8080', '/devices', 'http://localhost:8080/api/v1/devices'],
    ['http://localhost:8080/', 'api/v1', 'http://localhost:8080/api/v1'],
    ['https://a.test/base', '/api/v1/tags?a=b', 'https://a.test/base/api/v1/tags?a=b'],
    ['https://a.test', '/api/v10', 'https://a.test/api/v1/api/v10'],
    ['https://a.test', '/tags?x=%20%', 'https://a.test/api/v1/tags?x=%20%25'],
  ])('at %s of %s', (base, path, url) => {
    expect(apiUrl(base, path).href).toBe(url);
  });
});
