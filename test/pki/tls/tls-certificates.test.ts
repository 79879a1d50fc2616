import { SecretBox } from '../../../src/crypto/secrets/secret-box.js';
import { insertCertificate } from '../../../src/db/pki/certificate-repository.js';
import { certificateRecord } from '../../../src/pki/certificates/certificate-record.js';
import { storeSealedKey } from '../../../src/pki/certificates/stored-keys.js';
import type { TlsCertificatesDeps } from '../../../src/pki/tls/tls-certificates.js';
import { asAuthority, ecIdentity, type Identity } from '../../crypto/identities.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import { localhostIdentity } from '../../helpers/tls.js';
import { certificatePem } from '../../mdm/certified-device.js';
import { BOX as box, caveatsOf, inUse, openTls } from './open-tls.js';

const DAY = 86_400_000;

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());
beforeEach(async () => {
  const { knex } = database.db;
  await knex('certificates').delete();
  await knex('rsa_private_keys').delete();
});

const open = (config: Partial<TlsCertificatesDeps['config']> = {}) => openTls(database, config);

interface Stored {
  id: number;
  fingerprint: Buffer;
}

/** The row of an uploaded certificate. */
async function store(
  identity: Identity,
  {
    chain = [],
    key = identity.privateKey,
  }: { chain?: Identity[]; key?: Identity['privateKey'] | null } = {},
): Promise<Stored> {
  const { certificate } = identity;
  const id = await database.db.knex.transaction(async (trx) => {
    const keyId = key && (await storeSealedKey(trx, box, { key, name: null }));
    const record = certificateRecord(certificate, 'mdm.webcrt');
    return insertCertificate(trx, {
      ...record,
      rsa_private_key_id: keyId,
      chain_der: chain.length === 0 ? null : Buffer.concat(chain.map((one) => one.certificate.der)),
    });
  });
  return { id, fingerprint: certificate.fingerprint };
}

describe('a stored certificate for TLS', () => {
  it('is skipped when it is revoked, has no key, or is not valid yet', async () => {
    const revoked = await store(await localhostIdentity());
    await database.db.knex('certificates').where({ id: revoked.id }).update({ revoked_at: 'now' });
    await store(await localhostIdentity(), { key: null });
    const [notBefore, notAfter] = [new Date(Date.now() + DAY), new Date(Date.now() + 9 * DAY)];
    await store(await ecIdentity('P-256', { notBefore, notAfter }));
    const { tls, warnings } = await open();
    expect([tls.servesTls, tls.current, tls.caveats]).toEqual([false, undefined, []]);
    expect(warnings()).toEqual([]);
  });

  it('is the one added last, valid ones first', async () => {
    const notBefore = new Date(Date.now() - 9 * DAY);
    const past = { notBefore, notAfter: new Date(Date.now() - DAY) };
    const former = await store(await ecIdentity('P-256', past));
    expect(inUse((await open()).tls)).toEqual(former.fingerprint);
    await store(await localhostIdentity());
    const last = await store(await localhostIdentity());
    await store(await ecIdentity('P-256', past));
    expect(inUse((await open()).tls)).toEqual(last.fingerprint);
  });

  it('is served with its chain', async () => {
    const root = await ecIdentity('P-256', asAuthority);
    const leaf = await ecIdentity('P-256', { issuedBy: root });
    await store(leaf, { chain: [root] });
    const { current } = (await open()).tls;
    expect(current?.cert).toBe(certificatePem(leaf.certificate, root.certificate));
    expect(current?.chain.map(({ der }) => der)).toEqual([root.certificate.der]);
  });

  it.each<[string, () => Promise<unknown>]>([
    [
      'is of another certificate',
      async () => store(await localhostIdentity(), { key: (await localhostIdentity()).privateKey }),
    ],
    [
      'was sealed under another master key',
      async () => {
        const { id } = await store(await localhostIdentity());
        const row = await database.db.knex('certificates').where({ id }).first();
        const sealed_pkcs8 = new SecretBox(Buffer.alloc(32, 8)).seal(Buffer.from('key'), 'x');
        const where = { id: row.rsa_private_key_id };
        await database.db.knex('rsa_private_keys').where(where).update({ sealed_pkcs8 });
      },
    ],
  ])('stays in use when the key of the next %s, which is logged once', async (_what, storeBad) => {
    const good = await store(await localhostIdentity());
    const { tls, warnings } = await open();
    await storeBad();
    for (let time = 0; time < 3; time += 1) await tls.refresh();
    expect(inUse(tls)).toEqual(good.fingerprint);
    expect(warnings()).toEqual([
      'a stored ssl certificate cannot be used: the one before it stays',
    ]);
    await database.db.knex('certificates').where({ id: good.id }).delete();
    await tls.refresh();
    expect(inUse(tls)).toEqual(good.fingerprint);
    expect(caveatsOf(tls)).toContain('tls_certificate_gone');
  });

  it('replaces the former one, and listeners get each once', async () => {
    const first = await store(await localhostIdentity());
    const { tls, warnings } = await open();
    const heard: (Buffer | undefined)[] = [];
    tls.onChange(({ certificate }) => heard.push(certificate.fingerprint));
    await tls.refresh();
    const second = await store(await localhostIdentity());
    await Promise.all([tls.refresh(), tls.refresh()]);
    await database.db.knex('certificates').where({ id: second.id }).delete();
    await tls.refresh();
    expect(heard).toEqual([second.fingerprint, first.fingerprint]);
    expect(warnings()).toEqual([]);
  });

  it('is served after the last was deleted, with a warning until there is one', async () => {
    const { id, fingerprint } = await store(await localhostIdentity());
    const { tls, warnings } = await open();
    await database.db.knex('certificates').where({ id }).delete();
    await tls.refresh();
    await tls.refresh();
    expect([caveatsOf(tls), inUse(tls)]).toEqual([['tls_certificate_gone'], fingerprint]);
    expect(warnings()).toEqual(tls.caveats.map(({ detail }) => detail));
    await store(await localhostIdentity());
    await tls.refresh();
    expect(tls.caveats).toEqual([]);
  });

  it('that is the first needs a restart for HTTPS, and signs at once', async () => {
    const { tls, warnings } = await open();
    const { id, fingerprint } = await store(await localhostIdentity());
    await tls.refresh();
    await tls.refresh();
    expect([tls.servesTls, caveatsOf(tls), inUse(tls)]).toEqual([
      false,
      ['restart_for_https'],
      fingerprint,
    ]);
    expect(warnings()).toEqual(tls.caveats.map(({ detail }) => detail));
    await database.db.knex('certificates').where({ id }).delete();
    await tls.refresh();
    expect([tls.caveats, tls.current]).toEqual([[], undefined]);
  });

  it('only signs with TLS=off, without a warning', async () => {
    const first = await store(await localhostIdentity());
    const { tls, warnings } = await open({ storedTls: false });
    expect([tls.servesTls, inUse(tls)]).toEqual([false, first.fingerprint]);
    await store(await localhostIdentity());
    await tls.refresh();
    expect([tls.caveats, warnings()]).toEqual([[], []]);
    expect(inUse(tls)).not.toEqual(first.fingerprint);
  });
});
