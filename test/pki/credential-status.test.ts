import { randomBytes } from 'node:crypto';
import type { Knex } from 'knex';
import { credentialStatus } from '../../src/pki/credential-status.js';
import { createTestDatabase, type TestDatabase } from '../helpers/database.js';

const NOW = new Date('2026-06-01T12:00:00Z');
const DAY_MS = 86_400_000;
let test: TestDatabase;
let knex: Knex;

beforeAll(async () => {
  test = await createTestDatabase();
  knex = test.db.knex;
});
afterAll(() => test.drop());
beforeEach(async () => {
  await knex('certificates').delete();
  await knex('dep_accounts').delete();
});

function days(count: number): Date {
  return new Date(NOW.getTime() + count * DAY_MS);
}

async function insertKey(): Promise<number> {
  const sealed_pkcs8 = Buffer.of(0);
  const key = { key_type: 'RSA', key_size: 2048, fingerprint_sha256: crypto.randomUUID() };
  const [row] = await knex('rsa_private_keys').insert({ ...key, sealed_pkcs8 }, 'id');
  return row.id;
}

/** With its private key, valid for a year, unless told. */
async function insert(columns: Record<string, unknown>): Promise<number> {
  const row = {
    ...{ subject: 'CN=s', x509_cn: 's', issuer: 'CN=i', serial: '1', der: Buffer.of(0) },
    ...{ fingerprint: randomBytes(32), not_before: days(-10), not_after: days(365) },
    ...{ rsa_private_key_id: await insertKey(), ...columns },
  };
  const [{ id }] = await knex('certificates').insert(row, 'id');
  return id;
}

const push = (topic: string) => ({ purpose: 'mdm.pushcert', push_topic: topic });
const NO_KEY = { rsa_private_key_id: null };

async function shown() {
  const credentials = await credentialStatus(knex, NOW);
  return credentials.map(({ id, status, days_left }) => [id, status, days_left]);
}

describe('the state of credentials', () => {
  it('leaves out revoked certificates and those of devices', async () => {
    await insert({ ...push('a'), revoked_at: NOW });
    await insert({ purpose: 'mdm.device' });
    await insert({ purpose: 'dep.stoken' });
    await knex('dep_accounts').insert({ server_name: 'no token yet' });
    expect(await credentialStatus(knex, NOW)).toEqual([]);
  });

  it('tells what expires within thirty days and what has expired, to the millisecond', async () => {
    const ending = (time: number) => insert({ purpose: 'mdm.cacert', not_after: new Date(time) });
    const month = days(30).getTime();
    const ids = [
      await ending(NOW.getTime()),
      await ending(NOW.getTime() + 1),
      await ending(month),
      await ending(month + 1),
    ];
    expect(await shown()).toEqual([
      [ids[0], 'expired', 0],
      [ids[1], 'expiring', 0],
      [ids[2], 'expiring', 30],
      [ids[3], 'ok', 30],
    ]);
  });

  it('counts whole days, also those since the end', async () => {
    const gone = await insert({ purpose: 'mdm.cacert', not_after: days(-1.5) });
    const soon = await insert({ purpose: 'mdm.cacert', not_after: days(1.9) });
    expect(await shown()).toEqual([
      [gone, 'expired', -2],
      [soon, 'expiring', 1],
    ]);
  });

  it('says of a push certificate without its private key that it is of no use', async () => {
    const ok = await insert({ ...push('a'), ...NO_KEY });
    const old = await insert({ ...push('b'), ...NO_KEY, not_after: days(-1) });
    expect(await shown()).toEqual([
      [old, 'no_private_key', -1],
      [ok, 'no_private_key', 365],
    ]);
  });

  it('counts of one topic the last added that can be used now', async () => {
    await insert({ ...push('a'), not_before: days(-1), not_after: days(310) });
    const a = await insert({ ...push('a'), not_before: days(-20), not_after: days(300) });
    await insert({ ...push('a'), not_before: days(1), not_after: days(500) });
    await insert({ ...push('a'), not_before: days(-30), not_after: days(-1) });
    const b = await insert({ ...push('b'), not_after: days(200) });
    expect(await shown()).toEqual([
      [b, 'ok', 200],
      [a, 'ok', 300],
    ]);
  });

  it('counts of a topic without any the last that could, and of those the last', async () => {
    await insert({ ...push('a'), not_before: days(-9), not_after: days(-1) });
    const ended = await insert({ ...push('a'), not_before: days(-20), not_after: days(-3) });
    expect(await shown()).toEqual([[ended, 'expired', -3]]);
    const keyless = await insert({ ...push('a'), ...NO_KEY });
    expect(await shown()).toEqual([
      [ended, 'expired', -3],
      [keyless, 'no_private_key', 365],
    ]);
  });

  it('tells of push certificates added after the one in use that lack their key', async () => {
    await insert({ ...push('a'), ...NO_KEY, not_after: days(50) });
    const used = await insert({ ...push('a'), not_after: days(100) });
    const renewed = await insert({ ...push('a'), ...NO_KEY, not_before: days(-99) });
    await insert({ ...push('a'), ...NO_KEY, not_after: days(-1) });
    await insert({ ...push('a'), ...NO_KEY, revoked_at: NOW });
    await insert({ purpose: 'mdm.webcrt', not_after: days(101) });
    const web = await insert({ purpose: 'mdm.webcrt', not_after: days(102) });
    await insert({ purpose: 'mdm.webcrt', ...NO_KEY });
    expect(await shown()).toEqual([
      [used, 'ok', 100],
      [web, 'ok', 102],
      [renewed, 'no_private_key', 365],
    ]);
    await knex('certificates')
      .where({ id: renewed })
      .update({ rsa_private_key_id: await insertKey() });
    expect(await shown()).toEqual([
      [web, 'ok', 102],
      [renewed, 'ok', 365],
    ]);
  });

  it('counts every CA, and of TLS certificates of one name the newest', async () => {
    const ca = { purpose: 'mdm.cacert', x509_cn: 'CA' };
    const web = { purpose: 'mdm.webcrt', x509_cn: 'mdm.example.com' };
    const first = await insert({ ...ca, not_after: days(100) });
    const second = await insert({ ...ca, ...NO_KEY, not_after: days(101) });
    await insert({ ...web, not_after: days(-3) });
    const renewed = await insert({ ...web, not_before: days(-2), not_after: days(102) });
    const other = await insert({ ...web, x509_cn: 'other.example.com', not_after: days(103) });
    expect(await shown()).toEqual([
      [first, 'ok', 100],
      [second, 'ok', 101],
      [renewed, 'ok', 102],
      [other, 'ok', 103],
    ]);
  });

  it('names each with its kind, its topic and its end', async () => {
    const id = await insert({ ...push('com.apple.mgmt.x'), x509_cn: 'APSP:x' });
    const nameless = await insert({ purpose: 'mdm.webcrt', x509_cn: null, not_after: days(400) });
    const [account] = await knex('dep_accounts').insert(
      { org_name: 'Example Inc.', access_token_expiry: days(20) },
      'id',
    );
    expect(await credentialStatus(knex, NOW)).toEqual([
      {
        ...{ kind: 'dep_token', id: account.id, name: 'Example Inc.', status: 'expiring' },
        ...{ not_after: days(20), days_left: 20 },
      },
      {
        ...{ kind: 'push_certificate', id, name: 'APSP:x', topic: 'com.apple.mgmt.x' },
        ...{ status: 'ok', not_after: days(365), days_left: 365 },
      },
      {
        ...{ kind: 'ssl_certificate', id: nameless, name: 'CN=s', status: 'ok' },
        ...{ not_after: days(400), days_left: 400 },
      },
    ]);
  });
});
