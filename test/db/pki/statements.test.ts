import { inTransaction } from '../../../src/db/connection/unit-of-work.js';
import { certificateUses } from '../../../src/db/pki/certificate-uses.js';
import {
  countIdentitiesOf,
  listServerCertificates,
} from '../../../src/db/pki/credential-repository.js';
import { countSealed, eachSealedBatch } from '../../../src/db/pki/reseal-repository.js';
import { readRevoked } from '../../../src/db/pki/revocation-repository.js';
import { SEALED_PLACES } from '../../../src/db/pki/sealed-places.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import { statementTexts, type Work } from '../../helpers/statement-texts.js';
import { statementsOf } from '../../helpers/statements.js';

/** Bytes in the layout of a sealed secret. */
const SEALED = Buffer.concat([Buffer.from('MSB1'), Buffer.alloc(40)]);

let test: TestDatabase;

beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

describe('the statements of db/pki that are built from parts', () => {
  it('read and reseal a column', async () => {
    const key = { key_type: 'RSA', key_size: 2048, fingerprint_sha256: 'ab' };
    await test.db.knex('rsa_private_keys').insert({ ...key, sealed_pkcs8: SEALED });
    const place = SEALED_PLACES.find(({ name }) => name === 'rsa_private_keys.sealed_pkcs8');
    if (place === undefined) throw new Error('no such place');
    const statements = await statementsOf(test.db, () =>
      eachSealedBatch(test.db, place, (values) =>
        values.map(({ key }) => ({ key, sealed: SEALED })),
      ),
    );
    expect(statements.slice(0, 3).join(';\n\n')).toMatchInlineSnapshot(`
"with found as (
  select t.id as key, octet_length(t.sealed_pkcs8)::bigint as size
  from rsa_private_keys t where t.id > $1::bigint and substring(t.sealed_pkcs8 from 1 for 4) = '\\x4d534231'::bytea
  order by 1 limit 500
), summed as (
  select key, sum(size) over (order by key) - size as before from found
)
select max(key) as last from summed where before < 16777216;

select t.id as key, t.sealed_pkcs8 as sealed, 'rsa_private_keys/' || t.fingerprint_sha256 as seal_label
from rsa_private_keys t
where t.id > $1::bigint and t.id <= $2::bigint and substring(t.sealed_pkcs8 from 1 for 4) = '\\x4d534231'::bytea
order by 1;

update rsa_private_keys t set sealed_pkcs8 = v.sealed
from unnest($1::bigint[], $2::bytea[]) as v (key, sealed) where t.id = v.key"
`);
  });

  it('read a member of a setting', async () => {
    const place = SEALED_PLACES.find(({ name }) => name === 'server_settings.lab');
    if (place === undefined) throw new Error('no such place');
    const statements = await statementsOf(test.db, () => eachSealedBatch(test.db, place, () => []));
    expect(statements.join(';\n\n')).toMatchInlineSnapshot(`
"with found as (
  select t.name as key, octet_length(case when t.name = 'lab' then decode(t.value ->> 'sealed_key', 'base64') end)::bigint as size
  from server_settings t where t.name > $1::text and substring(case when t.name = 'lab' then decode(t.value ->> 'sealed_key', 'base64') end from 1 for 4) = '\\x4d534231'::bytea
  order by 1 limit 500
), summed as (
  select key, sum(size) over (order by key) - size as before from found
)
select max(key) as last from summed where before < 16777216"
`);
  });

  it('find the uses of a certificate', async () => {
    const statements = await statementsOf(test.db, () =>
      inTransaction(test.db, async (trx) => await certificateUses(trx, 1)),
    );
    expect(statements.join(';\n\n')).toMatchInlineSnapshot(`
"select
  exists (
    select from device_identities i where i.fingerprint = c.fingerprint and i.state <> 'revoked'
  ) or exists (select from scep_challenges s where s.certificate_id = c.id) as is_identity,
  c.purpose = 'mdm.pushcert' and c.revoked_at is null and c.rsa_private_key_id is not null
    and exists (select from devices d where d.is_enrolled and d.topic = c.push_topic)
    and not exists (
      select from certificates o
      where o.purpose = 'mdm.pushcert' and o.push_topic = c.push_topic
        and o.id <> c.id and o.revoked_at is null and o.not_after > now()
        and o.rsa_private_key_id is not null
    ) as pushes,
  c.purpose = 'mdm.cacert' and (exists (
    select from certificates i where i.purpose = 'mdm.device' and i.issuer = c.subject
  ) or exists (
    select from device_identities i join devices d on d.id = i.device_id
    where i.issuer = c.fingerprint and i.state in ('active', 'renewal')
      and d.enrollment_state in ('authenticated', 'enrolled')
  )) as issued,
  c.issues_identities and c.revoked_at is null as signs,
  c.revoked_at is not null and c.not_after > now() - interval '7 days' and exists (
    select from certificates a where a.is_own_ca and a.subject = c.issuer and a.id <> c.id
  ) as is_listed,
  exists (
    select from dep_accounts t where t.token_certificate_id = c.id
  ) as is_token_certificate
from certificates c where c.id = $1"
`);
  });

  it('read the revoked certificates of an issuer', async () => {
    const statements = await statementsOf(test.db, () =>
      readRevoked(test.db.knex, 'CN=ca', () => {}),
    );
    expect(statements.slice(0, 2).join(';\n\n')).toMatchInlineSnapshot(`
"select version, date_trunc('hour', now()) as hour from change_topics where topic = 'revocations';

declare revoked no scroll cursor for
select serial, floor(extract(epoch from revoked_at))::bigint as revoked_at, revocation_reason
from certificates
where issuer = $1 and revoked_at is not null and not_after > $2::timestamptz - interval '7 days'
order by revoked_at, id"
`);
  });

  it('list certificates of the server and count identities of CAs', async () => {
    const work: Work = async ({ knex }) => {
      await listServerCertificates(knex);
      await countIdentitiesOf(knex, [1, 2], 10);
    };
    expect(await statementTexts(work, [{ id: 1 }, { id: 2 }])).toMatchSnapshot();
  });

  it.each(SEALED_PLACES)('count the sealed values of $name', async (place) => {
    const statements = await statementsOf(test.db, () => countSealed(test.db, place));
    expect(statements.join(';\n\n')).toMatchSnapshot();
  });

  it('reseal a member of a setting', async () => {
    const value = JSON.stringify({ sealed_key: SEALED.toString('base64') });
    await test.db.knex('server_settings').insert({ name: 'lab', value });
    const place = SEALED_PLACES.find(({ name }) => name === 'server_settings.lab');
    if (place === undefined) throw new Error('no such place');
    const statements = await statementsOf(test.db, () =>
      eachSealedBatch(test.db, place, (values) =>
        values.map(({ key }) => ({ key, sealed: SEALED })),
      ),
    );
    expect(statements.join(';\n\n')).toMatchSnapshot();
  });
});
