import { randomBytes } from 'node:crypto';
import { RESOURCES } from '../../bench/scale/list-cases.js';
import type { ResourceDefinition } from '../../src/jsonapi/definition/definition.js';
import { adminApi, startApp, type TestApp } from '../helpers/app.js';
import { commandIn, createTestDevice } from '../helpers/device.js';

/** Characters that take four bytes each and can't be compressed: the longest entries that an index may get. */
function wide(characters: number): string {
  const codes = Array.from({ length: characters }, () => {
    return 0x10000 + (randomBytes(2).readUInt16BE() % 60_000);
  });
  return String.fromCodePoint(...codes);
}

const LIMIT = 600;
const VERSION_LIMIT = 255;

// An index of the order of versions holds no more than their beginning.
const INDEXED = `
  select distinct c.relname as "table", a.attname as "column"
  from pg_index i
  join pg_class c on c.oid = i.indrelid
  join pg_class x on x.oid = i.indexrelid
  join pg_am m on m.oid = x.relam and m.amname = 'btree'
  join pg_depend d on d.objid = i.indexrelid and d.refobjid = i.indrelid and d.refobjsubid > 0
  join pg_attribute a on a.attrelid = i.indrelid and a.attnum = d.refobjsubid
  where c.relnamespace = 'public'::regnamespace and a.atttypid = 'text'::regtype
    and not (x.relname like '%_order' and pg_get_indexdef(x.oid) not ilike '%include%')
  order by 1, 2`;

let app: TestApp;

beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.stop());

async function indexedTexts(table: string): Promise<string[]> {
  const { rows } = await app.db.knex.raw(INDEXED);
  const of = rows.filter((row: { table: string }) => row.table === table);
  return of.map((row: { column: string }) => row.column);
}

describe('texts of which no index takes all', () => {
  it('every indexed text that clients write has a limit', async () => {
    const { rows } = await app.db.knex.raw(INDEXED);
    const limited: string[] = [];
    for (const { table, column } of rows) {
      const attribute = RESOURCES.find(({ type }) => type === table)?.attributes[column];
      if (attribute?.kind !== 'text' || attribute.write === 'never') continue;
      limited.push(`${table}.${column}`);
      expect([column, attribute.schema.safeParse('x'.repeat(LIMIT + 1)).success]).toEqual([
        column,
        false,
      ]);
    }
    expect(limited).toEqual(expect.arrayContaining(['devices.hostname', 'devices.color']));
    expect(limited.length).toBeGreaterThan(30);
  });

  it('the longest in every indexed column of a device', async () => {
    const columns = await indexedTexts('devices');
    const { attributes } = RESOURCES.find(({ type }) => type === 'devices') as ResourceDefinition;
    const longest = (name: string) => {
      const { kind, schema } = attributes[name] ?? {};
      const texts = [LIMIT, VERSION_LIMIT].map(wide);
      return kind === 'text' ? texts.find((text) => schema?.safeParse(text).success) : undefined;
    };
    const texts = Object.fromEntries(
      columns.flatMap((name) => {
        const text = longest(name);
        return text === undefined ? [] : [[name, text] as const];
      }),
    );
    const lengths = Object.entries(texts).map(([name, text]) => [name, [...text].length]);
    expect(Object.fromEntries(lengths)).toMatchObject({
      hostname: LIMIT,
      model: LIMIT,
      color: LIMIT,
      udid: VERSION_LIMIT,
      os_version: VERSION_LIMIT,
      build_version: VERSION_LIMIT,
    });
    const [{ id }] = await app.db.knex('devices').insert(texts).returning('id');
    expect(await app.db.knex('devices').where({ id }).first()).toMatchObject(texts);
  });

  it('a client is refused one character more, with the attribute', async () => {
    const post = (hostname: string) =>
      adminApi(app)
        .post('/devices')
        .send({ data: { type: 'devices', attributes: { serial_number: 'LONG1', hostname } } });
    const long = wide(LIMIT);
    expect((await post(long)).body).toMatchObject({ data: { attributes: { hostname: long } } });
    const refused = await post(`${long}x`);
    expect([refused.status, refused.body.errors[0].source]).toEqual([
      422,
      { pointer: '/data/attributes/hostname' },
    ]);
  });

  it('an identifier that is too long is not called missing, nor an invalid character no string', async () => {
    const attributes = { serial_number: 'S'.repeat(256) };
    const refused = await adminApi(app)
      .post('/devices')
      .send({ data: { type: 'devices', attributes } });
    expect(refused.body.errors.map(({ detail }: { detail: string }) => detail)).toEqual([
      'serial_number must have at most 255 characters',
    ]);
    for (const op of ['eq', 'startswith']) {
      const filter = JSON.stringify([{ name: 'device_name', op, val: 'a\u0000' }]);
      const { body } = await adminApi(app).get(`/devices?filter=${encodeURIComponent(filter)}`);
      expect(body.errors[0]).toMatchObject({
        status: '400',
        detail: 'the value that "device_name" is compared with holds an invalid character',
      });
    }
  });

  it('of those of a device the beginning is kept', async () => {
    const long = wide(3_000);
    // In UTF-16 units, of which each of these characters has two.
    const kept = long.slice(0, LIMIT);
    const device = await createTestDevice(app);
    await device.enroll({ DeviceName: long, Model: long, OSVersion: long, BuildVersion: long });
    const row = () => app.db.knex('devices').where({ udid: device.udid }).first();
    expect(await row()).toMatchObject({
      device_name: kept,
      model: kept,
      os_version: kept,
      build_version: kept,
    });
    const answers: Record<string, object> = {
      DeviceInformation: { QueryResponses: { HostName: long, TimeZone: long, ModelName: long } },
      InstalledApplicationList: {
        InstalledApplicationList: [{ Identifier: long, Name: long, Version: long }],
      },
      ProfileList: { ProfileList: [{ PayloadIdentifier: long, PayloadDescription: long }] },
      CertificateList: { CertificateList: [{ CommonName: long }] },
    };
    let next = commandIn(await device.idle());
    while (next !== undefined) {
      const { uuid, command } = next;
      const answer = answers[command.RequestType as string] ?? {};
      next = commandIn(await device.report(uuid, 'Acknowledged', { ...answer }));
    }
    await app.waitForReports();
    const { id, ...facts } = await row();
    expect(facts).toMatchObject({ hostname: kept, time_zone: kept, model_name: kept });
    const of = (table: string) => app.db.knex(table).where({ device_id: id }).first();
    expect(await of('installed_applications')).toMatchObject({
      bundle_identifier: kept,
      name: kept,
      version: kept,
    });
    expect(await of('installed_profiles')).toMatchObject({
      payload_identifier: kept,
      payload_description: long,
    });
    expect(await of('installed_certificates')).toMatchObject({ x509_cn: kept });
  });
});
