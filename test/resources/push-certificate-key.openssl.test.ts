import { type OpenSsl, openSsl } from '../crypto/openssl.js';
import { adminApi, startApp, type TestApp } from '../helpers/app.js';

const TOPIC = 'com.apple.mgmt.External.0a1b2c3d-0000-4000-8000-000000000001';
const PASSWORD = 'secret';

type Json = Record<string, unknown>;

let app: TestApp;
let ssl: OpenSsl;
let made = 0;

beforeAll(async () => {
  // Jobs stay where they are, for the tests to see.
  app = await startApp({ isSweeping: false });
  ssl = openSsl();
});
afterEach(async () => {
  await app.db.knex('certificates').where({ purpose: 'mdm.pushcert' }).delete();
  await app.db.knex.raw('delete from graphile_worker._private_jobs');
});
afterAll(async () => {
  ssl.remove();
  await app.stop();
});

const text = (name: string) => ssl.read(name).toString('utf8');

/** Options of the command that makes a private key of each form, the file's name last. */
const FORMS: [string, string[]][] = [
  ['PKCS #1', ['genrsa', '-traditional', '-out']],
  ['PKCS #8', ['genrsa', '-out']],
  [
    'PKCS #1 with a password',
    ['genrsa', '-traditional', '-aes128', '-passout', `pass:${PASSWORD}`],
  ],
  ['PKCS #8 with a password', ['genrsa', '-aes256', '-passout', `pass:${PASSWORD}`]],
  ['SEC 1', ['ecparam', '-genkey', '-name', 'prime256v1', '-noout', '-out']],
];

/** A push certificate and its key, as an upload has them. */
function makePair(options: string[]) {
  made += 1;
  const name = `push-${made}`;
  const isEncrypted = options.includes('-passout');
  ssl.run(...options, ...(isEncrypted ? ['-out'] : []), `${name}.key`);
  ssl.run(
    ...['req', '-x509', '-new', '-days', '365', '-passin', `pass:${PASSWORD}`],
    ...['-key', `${name}.key`, '-out', `${name}.pem`, '-subj', `/UID=${TOPIC}/CN=APSP:${name}`],
  );
  const certificate = { pem_certificate: text(`${name}.pem`) };
  const key: Json = { pem_private_key: text(`${name}.key`) };
  if (isEncrypted) key.password = PASSWORD;
  return { certificate, key };
}

const upload = (attributes: Json) =>
  adminApi(app).post('/push_certificates', { data: { type: 'certificates', attributes } });

const patch = (id: number, attributes: Json) =>
  adminApi(app).patch(`/certificates/${id}`, { data: { type: 'certificates', id, attributes } });

async function uploaded(attributes: Json): Promise<number> {
  const { status, body } = await upload(attributes);
  expect([status, body.errors]).toEqual([201, undefined]);
  return body.data[0].id;
}

const keyOf = async (id: number) =>
  (await app.db.knex('certificates').where({ id }).first()).rsa_private_key_id;

/** Jobs that have the devices pushed which wait for a certificate. */
const rearming = () => app.db.knex('jobs').where({ task: 'push.rearm' }).pluck('key');

/** Every process reads the push certificates again when it changes. */
async function version(): Promise<number> {
  return (await app.db.knex('change_topics').where({ topic: 'push_certificates' }).first()).version;
}

describe.each(FORMS)('a key of OpenSSL as %s', (_form, options) => {
  it('is added to its push certificate by PATCH, and wakes the devices that wait', async () => {
    const { certificate, key } = makePair(options);
    const id = await uploaded(certificate);
    expect([await keyOf(id), await rearming()]).toEqual([null, []]);
    const before = await version();
    const reply = await patch(id, key);
    expect([reply.status, reply.body.errors]).toEqual([200, undefined]);
    const { data } = reply.body.data[0].relationships.rsa_private_key;
    expect(data).toEqual({ type: 'rsa_private_keys', id: await keyOf(id) });
    expect(await rearming()).toEqual([`push.rearm:${TOPIC}`]);
    expect(await version()).toBeGreaterThan(before);
  });

  it('is added to it by a repeated POST, too', async () => {
    const { certificate, key } = makePair(options);
    const id = await uploaded(certificate);
    const before = await version();
    const reply = await upload({ ...certificate, ...key });
    expect([reply.status, reply.body.errors]).toEqual([201, undefined]);
    expect(reply.headers.location).toBe(`/api/v1/certificates/${id}`);
    const [again] = reply.body.data;
    expect(again.id).toBe(id);
    const stored = await keyOf(id);
    expect(again.relationships.rsa_private_key.data.id).toBe(stored);
    expect(stored).not.toBeNull();
    expect(await rearming()).toEqual([`push.rearm:${TOPIC}`]);
    expect(await version()).toBeGreaterThan(before);
    const third = await upload({ ...certificate, ...key });
    expect([third.status, third.body.errors[0].code]).toEqual([409, 'already_exists']);
  });
});
