import { connectDatabase, type Database } from '../../../src/db/connection/database.js';
import { toAppError } from '../../../src/db/connection/sqlstate.js';
import { AppError } from '../../../src/errors.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';

let test: TestDatabase;
let db: Database;

beforeAll(async () => {
  test = await createTestDatabase();
  db = test.db;
  await db.knex('devices').insert({ udid: 'AB' });
  await db.knex('tags').insert({ name: 'blue' });
  await db.knex('rsa_private_keys').insert(KEY);
  await db.knex('certificates').insert({ ...CERTIFICATE, rsa_private_key_id: 1 });
});
afterAll(() => test.drop());

const KEY = {
  key_type: 'RSA',
  key_size: 2048,
  fingerprint_sha256: 'f',
  sealed_pkcs8: Buffer.of(1),
};
const CERTIFICATE = {
  purpose: 'mdm.cacert',
  subject: 'CN=a',
  issuer: 'CN=a',
  serial: '1',
  not_before: new Date(),
  not_after: new Date(),
  fingerprint: Buffer.alloc(32),
  der: Buffer.of(1),
};

async function failure(statement: PromiseLike<unknown>): Promise<AppError> {
  try {
    await statement;
  } catch (error) {
    return toAppError(error);
  }
  throw new Error('the statement succeeded');
}

function attribute(name: string) {
  return { pointer: `/data/attributes/${name}` };
}

describe('a failed statement', () => {
  it('names the attribute that exists already', async () => {
    expect(await failure(db.knex('tags').insert({ name: 'blue' }))).toMatchObject({
      code: 'already_exists',
      status: 409,
      message: 'A record with this name already exists',
      source: attribute('name'),
    });
  });

  it('names the attribute under an index on an expression', async () => {
    const error = await failure(db.knex('devices').insert({ udid: 'ab' }));
    expect(error).toMatchObject({ code: 'already_exists', source: attribute('udid') });
  });

  it('names all attributes that exist together', async () => {
    await db.knex('device_tags').insert({ device_id: 1, tag_id: 1 });
    const error = await failure(db.knex('device_tags').insert({ device_id: 1, tag_id: 1 }));
    expect(error.message).toBe('A record with this device_id, tag_id already exists');
    expect(error.details).toEqual([
      { detail: error.message, source: attribute('device_id') },
      { detail: error.message, source: attribute('tag_id') },
    ]);
  });

  it('takes the pointer from the given function', async () => {
    const statement = db.knex('device_tags').insert({ device_id: 1, tag_id: 1 });
    const driverError: unknown = await statement.then(
      () => undefined,
      (error: unknown) => error,
    );
    const pointer = '/data/relationships/tag/data';
    const error = toAppError(driverError, (column) =>
      column === 'tag_id' ? { name: 'tag', pointer } : undefined,
    );
    expect(error).toMatchObject({
      message: 'A record with this device_id, tag already exists',
      source: { pointer },
      details: [],
    });
  });

  it('reports that the referenced record does not exist', async () => {
    const error = await failure(db.knex('device_tags').insert({ device_id: 1, tag_id: 99 }));
    expect(error).toMatchObject({
      code: 'not_found',
      status: 409,
      message: 'What tag_id refers to does not exist',
    });
  });

  it('names what still uses the record', async () => {
    expect(await failure(db.knex('rsa_private_keys').where({ id: 1 }).delete())).toMatchObject({
      code: 'in_use',
      status: 409,
      message: 'Still in use by certificates',
    });
  });

  it('names the attribute that is missing', async () => {
    expect(await failure(db.knex('tags').insert({ name: null }))).toMatchObject({
      code: 'validation_failed',
      status: 422,
      message: 'name must not be null',
      source: attribute('name'),
    });
  });

  it('names the value that is not allowed', async () => {
    const token = { name: 'n', token_hash: Buffer.of(1), role: 'king' };
    expect(await failure(db.knex('tokens').insert(token))).toMatchObject({
      code: 'validation_failed',
      status: 422,
      message: 'Not an allowed value (role)',
      source: attribute('role'),
    });
  });

  it.each([
    ['a number out of range', { device_id: 1, tag_id: '9223372036854775808' }],
    ['text where a number belongs', { device_id: 1, tag_id: 'x' }],
  ])('is 422 for %s', async (_, row) => {
    expect(await failure(db.knex('device_tags').insert(row))).toMatchObject({ status: 422 });
  });

  it('is 422 for text with a NUL', async () => {
    const error = await failure(db.knex('tags').insert({ name: 'a\0b' }));
    expect(error).toMatchObject({ code: 'validation_failed', status: 422 });
  });

  it('is 503 when it takes too long, or the database refuses the connection', async () => {
    const slow = db.knex.transaction(async (trx) => {
      await trx.raw("set local statement_timeout = '10ms'");
      await trx.raw('select pg_sleep(5)');
    });
    expect(await failure(slow)).toMatchObject({ code: 'unavailable', status: 503 });
    const nowhere = connectDatabase({ connectionString: 'postgresql://u:p@127.0.0.1:1/x' });
    expect(await failure(nowhere.pool.query('select 1'))).toMatchObject({
      code: 'unavailable',
      status: 503,
      headers: { 'Retry-After': '1' },
    });
    expect(await failure(nowhere.knex.raw('select 1'))).toMatchObject({ status: 503 });
    await nowhere.close();
  });

  it('is an internal error otherwise, whose message reveals nothing', async () => {
    expect(await failure(db.knex('no_such_table').select())).toMatchObject({
      code: 'internal_error',
      status: 500,
      message: 'Internal error',
      cause: expect.objectContaining({ code: '42P01' }),
    });
  });
});

describe('an error from elsewhere', () => {
  it('passes unchanged if it is an AppError', () => {
    const error = new AppError('forbidden', 403, 'no');
    expect(toAppError(error)).toBe(error);
  });

  it('is an internal error if it is anything else', () => {
    expect(toAppError('text')).toMatchObject({ code: 'internal_error', cause: 'text' });
  });
});
