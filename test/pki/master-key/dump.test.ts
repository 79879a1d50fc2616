import { SEALED_PLACES } from '../../../src/db/pki/sealed-places.js';
import { spellingsOf } from '../../mdm/rows.js';
import { type DumpedTable, dumpDatabase, findSealed } from './dump.js';
import { type FilledServer, startFilledServer } from './filled-server.js';

let filled: FilledServer;

beforeAll(async () => {
  filled = await startFilledServer();
});
afterAll(() => filled?.app.stop());

function utf16(secret: Buffer): Buffer[] {
  const text = secret.toString('latin1');
  const little = Buffer.from(text, 'utf16le');
  return [little, Buffer.from(little).swap16()];
}

/**
 * Plain, in hexadecimal and in base64 at any offset, each also in UTF-16 or as bytes of a column.
 */
function allSpellings(secret: Buffer): string[] {
  const wide = utf16(secret).flatMap((bytes) => [bytes.toString('hex'), ...spellingsOf(bytes)]);
  return [...spellingsOf(secret), secret.toString('utf8'), ...wide];
}

function finding(dump: DumpedTable[], spellings: string[]): string[] {
  return dump.flatMap(({ name, lines }) =>
    lines.some((line) => spellings.some((spelling) => line.includes(spelling))) ? [name] : [],
  );
}

/** The dump, and the log as one more table of it. */
async function everything(): Promise<DumpedTable[]> {
  const log = { name: 'log', lines: filled.app.logText().split('\n') };
  return [...(await dumpDatabase(filled.app.db)), log];
}

describe('a dump of the database', () => {
  it('is searched by a method that finds each secret in every encoding', async () => {
    const { db } = filled.app;
    for (const [name, secret] of filled.secrets) {
      const planted = [
        { description: secret.toString('hex') },
        { description: Buffer.concat([Buffer.from('x'), secret]).toString('base64') },
        { sealed_push: secret },
        { sealed_push: utf16(secret)[0] },
      ];
      for (const columns of planted) {
        const [{ id }] = await db.knex('devices').insert(columns).returning('id');
        const { rows } = await db.pool.query<{ line: string }>(
          'select t::text as line from devices t where id = $1',
          [id],
        );
        const table = { name: 'devices', lines: rows.map(({ line }) => line) };
        expect([name, finding([table], allSpellings(secret))]).toEqual([name, ['devices']]);
        await db.knex('devices').where({ id }).delete();
      }
    }
  });

  it('holds no secret, nor does the log', async () => {
    const dump = await everything();
    expect(filled.secrets.size).toBeGreaterThan(25);
    const found = [...filled.secrets].flatMap(([name, secret]) =>
      finding(dump, allSpellings(secret)).map((table) => `${name} in ${table}`),
    );
    expect(found).toEqual([]);
  });

  it('holds no private key and no PIN', async () => {
    const pem = ['PRIVATE KEY', ...spellingsOf(Buffer.from('PRIVATE KEY-----'))];
    const pin = ['PIN</key><string>', '"PIN":"', '"PIN": "'].map((text) => text + filled.pin);
    const spelled = pin.flatMap((text) => [text, ...spellingsOf(Buffer.from(text))]);
    const dump = await everything();
    expect(finding(dump, [...pem, ...spelled])).toEqual([]);
    const alone = new RegExp(`(?<![.\\w])${filled.pin}(?!\\w)`);
    const holders = dump.filter(({ lines }) => lines.some((line) => alone.test(line)));
    expect(holders.map(({ name }) => name)).toEqual([]);
  });

  it('has sealed values only in the places that a rotation reseals', async () => {
    const columns = (name: string) =>
      name.startsWith('server_settings.') ? 'server_settings.value' : name;
    const known = new Set(SEALED_PLACES.map(({ name }) => columns(name)));
    expect(await findSealed(filled.app.db)).toEqual([...known].sort());
  });
});
