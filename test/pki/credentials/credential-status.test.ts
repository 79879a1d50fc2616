import { randomBytes } from 'node:crypto';
import type { Knex } from 'knex';
import { credentialAdvice } from '../../../src/pki/credentials/credential-advice.js';
import {
  credentialStatus,
  credentialsInUse,
} from '../../../src/pki/credentials/credential-status.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';

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

/** By default with its private key and valid for a year. */
async function insert(columns: Record<string, unknown>): Promise<number> {
  const row = {
    subject: 'CN=s',
    x509_cn: 's',
    issuer: 'CN=i',
    serial: '1',
    der: Buffer.of(0),
    fingerprint: randomBytes(32),
    not_before: days(-10),
    not_after: days(365),
    rsa_private_key_id: await insertKey(),
    ...columns,
  };
  const [{ id }] = await knex('certificates').insert(row, 'id');
  return id;
}

const push = (topic: string) => ({ purpose: 'mdm.pushcert', push_topic: topic });
const NO_KEY = { rsa_private_key_id: null };

async function shown() {
  const credentials = await credentialStatus(knex, { now: NOW });
  return credentials.map(({ id, status, days_left }) => [id, status, days_left]);
}

describe('the state of credentials', () => {
  it('leaves out revoked certificates and those of devices', async () => {
    await insert({ ...push('a'), revoked_at: NOW });
    await insert({ purpose: 'mdm.device' });
    await insert({ ...NO_KEY, purpose: 'dep.stoken' });
    await knex('dep_accounts').insert({ server_name: 'no token yet' });
    expect(await credentialStatus(knex, { now: NOW })).toEqual([]);
  });

  it('is expiring within thirty days and expired after the end, to the millisecond', async () => {
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

  it('is not_yet_valid before the start, unless another certificate serves instead', async () => {
    const later = { not_before: new Date(NOW.getTime() + 1), not_after: days(3) };
    const web = await insert({ purpose: 'mdm.webcrt', ...later });
    const begun = await insert({ purpose: 'mdm.cacert', not_before: NOW });
    const ca = await insert({ purpose: 'mdm.cacert', not_before: days(1), not_after: days(366) });
    const keyless = await insert({
      ...push('a'),
      ...NO_KEY,
      not_before: days(1),
      not_after: days(400),
    });
    expect(await shown()).toEqual([
      [web, 'not_yet_valid', 3],
      [begun, 'ok', 365],
      [ca, 'not_yet_valid', 366],
      [keyless, 'no_private_key', 400],
    ]);
    const now = await insert({ purpose: 'mdm.webcrt', not_after: days(90) });
    expect((await shown())[0]).toEqual([now, 'ok', 90]);
    const tlsFile = { commonName: 'a', subject: 'CN=a', notBefore: days(1), notAfter: days(2) };
    const credentials = await credentialStatus(knex, { now: NOW, tlsFile });
    const [file] = credentials;
    expect(file && credentialAdvice(file, credentials)).toBe(
      'The TLS certificate "a" (of TLS_CERT_FILE) is not valid before 2026-06-02T12:00:00.000Z, and ' +
        "of no use until then. If this server's clock is right, replace it with one that is valid " +
        'now.',
    );
  });

  it('is no_private_key for a push certificate without its key', async () => {
    const ok = await insert({ ...push('a'), ...NO_KEY });
    const old = await insert({ ...push('b'), ...NO_KEY, not_after: days(-1) });
    expect(await shown()).toEqual([
      [old, 'no_private_key', -1],
      [ok, 'no_private_key', 365],
    ]);
  });

  it('includes the last added usable push certificate of a topic', async () => {
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

  it('includes the last unusable one of a topic without a usable push certificate', async () => {
    await insert({ ...push('a'), not_before: days(-9), not_after: days(-1) });
    const ended = await insert({ ...push('a'), not_before: days(-20), not_after: days(-3) });
    expect(await shown()).toEqual([[ended, 'expired', -3]]);
    const keyless = await insert({ ...push('a'), ...NO_KEY });
    expect(await shown()).toEqual([
      [ended, 'expired', -3],
      [keyless, 'no_private_key', 365],
    ]);
  });

  it('includes push certificates newer than the one in use that lack their key', async () => {
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

  it('includes every CA, and the TLS certificate that is served', async () => {
    const ca = { purpose: 'mdm.cacert', x509_cn: 'CA' };
    const web = { purpose: 'mdm.webcrt', x509_cn: 'mdm.example.com' };
    const first = await insert({ ...ca, not_after: days(100) });
    const second = await insert({ ...ca, ...NO_KEY, not_after: days(101) });
    await insert({ ...web, not_after: days(-3) });
    await insert({ ...web, not_before: days(-2), not_after: days(102) });
    const used = await insert({ ...web, x509_cn: 'other.example.com', not_after: days(103) });
    await insert({ ...web, not_before: days(1) });
    await insert({ ...web, ...NO_KEY });
    expect(await shown()).toEqual([
      [first, 'ok', 100],
      [second, 'ok', 101],
      [used, 'ok', 103],
    ]);
  });

  it('contains the kind, topic and end of each', async () => {
    const apple_account = 'ada@example.com';
    const id = await insert({ ...push('com.apple.mgmt.x'), x509_cn: 'APSP:x', apple_account });
    const nameless = await insert({ purpose: 'mdm.webcrt', x509_cn: null, not_after: days(400) });
    const [account] = await knex('dep_accounts').insert(
      { org_name: 'Example Inc.', access_token_expiry: days(20) },
      'id',
    );
    expect(await credentialStatus(knex, { now: NOW })).toEqual([
      {
        kind: 'dep_token',
        source: 'database',
        id: account.id,
        name: 'Example Inc.',
        status: 'expiring',
        not_after: days(20),
        days_left: 20,
      },
      {
        kind: 'push_certificate',
        source: 'database',
        id,
        name: 'APSP:x',
        topic: 'com.apple.mgmt.x',
        apple_account: 'ada@example.com',
        status: 'ok',
        not_after: days(365),
        days_left: 365,
      },
      {
        kind: 'ssl_certificate',
        source: 'database',
        id: nameless,
        name: 'CN=s',
        status: 'ok',
        not_after: days(400),
        days_left: 400,
      },
    ]);
  });

  it('includes vendor, token, anchor and supervision certificates, each by its own rule', async () => {
    const of = (purpose: string, left: number, columns = {}) =>
      insert({ purpose, not_after: days(left), ...columns });
    await of('mdm.vendor', 100);
    const vendor = await of('mdm.vendor', 101);
    await of('mdm.vendor', 1, NO_KEY);
    const encrypt = await of('mdm.encrypt', 102);
    await of('dep.stoken', 99);
    const token = await of('dep.stoken', 103);
    const renewed = await of('dep.stoken', 90);
    await knex('dep_accounts').insert([
      { token_certificate_id: token },
      { token_certificate_id: renewed },
      { access_token_expiry: days(1), status: 'lab_off' },
    ]);
    const anchor = await of('dep.anchor', 104, NO_KEY);
    const other = await of('dep.anchor', 105, { ...NO_KEY, subject: 'CN=other' });
    const host = await of('dep.supervision', 106, NO_KEY);
    const found = await credentialStatus(knex, { now: NOW });
    expect(found.map(({ kind, id, days_left }) => [kind, id, days_left])).toEqual([
      ['dep_server_certificate', renewed, 90],
      ['vendor_certificate', vendor, 101],
      ['encryption_certificate', encrypt, 102],
      ['dep_server_certificate', token, 103],
      ['dep_anchor_certificate', anchor, 104],
      ['dep_anchor_certificate', other, 105],
      ['supervision_certificate', host, 106],
    ]);
  });

  it('includes the certificate of TLS_CERT_FILE instead of stored ones', async () => {
    await insert({ purpose: 'mdm.webcrt', not_after: days(5) });
    const names = { commonName: 'mdm.example.com', subject: 'CN=mdm' };
    const tlsFile = { ...names, notBefore: days(-9), notAfter: days(9) };
    expect(await credentialStatus(knex, { now: NOW, tlsFile })).toEqual([
      {
        kind: 'ssl_certificate',
        source: 'file',
        id: null,
        name: 'mdm.example.com',
        not_after: days(9),
        days_left: 9,
        status: 'expiring',
      },
    ]);
  });

  it('marks the issuing CA, and counts the devices of those that do not issue', async () => {
    const ca = { purpose: 'mdm.cacert', is_ca: true };
    const own = { ...ca, is_own_ca: true };
    const retired = await insert({ ...own, not_after: days(10) });
    const unused = await insert({ ...own, not_after: days(11) });
    const issuing = await insert({ ...own, issues_identities: true, not_after: days(12) });
    const external = await insert({ ...ca, ...NO_KEY, not_after: days(13) });
    await identities(retired, 2, 'active');
    await identities(retired, 1, 'renewal');
    await identities(retired, 1, 'superseded');
    await identities(external, 1, 'active');
    await identities(unused, 1, 'active', 'unenrolled');
    const found = await credentialsInUse(knex, { now: NOW });
    expect(found.map(({ id, authority, identities: count }) => [id, authority, count])).toEqual([
      [retired, 'retired', 3],
      [unused, 'retired', 0],
      [issuing, 'issuing', undefined],
      [external, 'external', 1],
    ]);
    const advice = found.map((credential) => credentialAdvice(credential, found) ?? '');
    expect(advice[0]).toContain(
      'in 10 days. It issued 3 identities in use. It no longer issues; devices',
    );
    expect(advice[1]).toBe('');
    expect(advice[2]).toContain(
      'in 12 days. It issues the identities of devices, and none is valid',
    );
    expect(advice[2]).toContain('Run `muster ca rotate`');
    expect(advice[3]).toContain(
      'in 13 days. It issued 1 identity in use. Devices with a certificate of',
    );
  });
});

async function identities(
  authority: number,
  count: number,
  state: string,
  enrollment_state = 'enrolled',
): Promise<void> {
  const { fingerprint: issuer } = await knex('certificates').where({ id: authority }).first();
  for (let index = 0; index < count; index += 1) {
    const [device] = await knex('devices').insert({ enrollment_state }, 'id');
    const row = { fingerprint: randomBytes(32), device_id: device.id, state, issuer };
    await knex('device_identities').insert(row);
  }
}
