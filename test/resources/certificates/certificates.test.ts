import { derNull, derOid, derSequence } from '../../../src/crypto/asn1/der.js';
import { Oid } from '../../../src/crypto/asn1/oids.js';
import { encodePem } from '../../../src/crypto/asn1/pem.js';
import { exportPrivateKey, generateRsaKeyPair } from '../../../src/crypto/keys/keys.js';
import { fixture, identityOf } from '../../crypto/identities.js';
import { withOuterAlgorithm } from '../../crypto/x509/two-algorithms.js';
import { nextKeys } from '../../helpers/prepared-keys.js';
import { createTestApi, type TestApi } from '../../jsonapi/test-api.js';
import {
  certificatePem,
  credentialClient,
  faults,
  type Json,
  keyPem,
  makeAuthority,
  makeIdentity,
  makePushIdentity,
  PUSH_TOPIC,
} from '../certificate-samples.js';

const CERTIFICATE = '/data/attributes/pem_certificate';
const KEY = '/data/attributes/pem_private_key';
const DAY = 86_400_000;

let api: TestApi;
let client: ReturnType<typeof credentialClient>;
beforeAll(async () => {
  api = await createTestApi();
  client = credentialClient(api);
});
afterAll(() => api.close());

const rowOf = (id: number) => api.knex('certificates').where({ id }).first();
const text = (path: string) => fixture(path).toString();

async function refused(attributes: Json, path = '/certificates') {
  const before = await api.knex('certificates').count();
  const keys = await api.knex('rsa_private_keys').count();
  const response = await client.post(path, attributes);
  expect(await api.knex('certificates').count()).toEqual(before);
  expect(await api.knex('rsa_private_keys').count()).toEqual(keys);
  return faults(response);
}

describe('creating certificates', () => {
  it('refuses one without a certificate, or with two', async () => {
    const purpose = 'mdm.encrypt';
    const missing = ['validation_failed', CERTIFICATE];
    expect(await refused({ purpose })).toEqual([422, missing]);
    expect(await refused({ purpose, pem_certificate: null })).toEqual([422, missing]);
    const both = { purpose, pem_certificate: 'x', pkcs12: 'x' };
    expect(await refused(both)).toEqual([422, ['validation_failed', '/data/attributes/pkcs12']]);
  });

  it.each([
    ['no text of any kind', 'hello world'],
    ['an empty text', ''],
    ['base64 of nothing', 'AAAA'],
    ['PEM of another kind', encodePem('PUBLIC KEY', Buffer.alloc(40))],
    ['PEM that is cut short', text('cert/push.mock.pem').slice(0, 300)],
    ['an altered one', text('cert/push.mock.pem').replace('MII', 'MIJ')],
  ])('refuses %s', async (_what, pem_certificate) => {
    const fault = ['invalid_certificate', CERTIFICATE];
    expect(await refused({ purpose: 'mdm.encrypt', pem_certificate })).toEqual([422, fault]);
  });

  it('accepts one whose two algorithms differ by a NULL parameter, unchanged', async () => {
    const identity = identityOf(await nextKeys());
    const absent = derSequence(derOid(Oid.sha256WithRsa));
    const der = withOuterAlgorithm(identity.certificate.der, absent);
    const { id } = await client.create('/certificates', {
      purpose: 'mdm.encrypt',
      pem_certificate: encodePem('CERTIFICATE', der),
    });
    expect((await rowOf(id)).der).toEqual(der);
  });

  it('refuses one whose two algorithms are not the same', async () => {
    const { der } = identityOf(await nextKeys()).certificate;
    const sha1 = derSequence(derOid(Oid.sha1WithRsa), derNull());
    const pem_certificate = encodePem('CERTIFICATE', withOuterAlgorithm(der, sha1));
    const fault = ['invalid_certificate', CERTIFICATE];
    expect(await refused({ purpose: 'mdm.encrypt', pem_certificate })).toEqual([422, fault]);
  });

  it('refuses a key that does not belong to the certificate', async () => {
    const [one, other] = [await makeIdentity(), await makeIdentity()];
    const pem_certificate = certificatePem(one.certificate);
    const pem_private_key = keyPem(other);
    const wrong = { purpose: 'mdm.webcrt', pem_certificate, pem_private_key };
    expect(await refused(wrong)).toEqual([422, ['key_mismatch', KEY]]);
    const together = { purpose: 'mdm.webcrt', pem_certificate: pem_certificate + pem_private_key };
    expect(await refused(together)).toEqual([422, ['key_mismatch', CERTIFICATE]]);
    const published = {
      purpose: 'mdm.webcrt',
      pem_certificate: text('cert/push.test-pair.pem'),
      pem_private_key: text('cert/push.test-pair.key'),
      password: 'secret',
    };
    expect(await refused(published)).toEqual([422, ['key_mismatch', KEY]]);
  });

  it('refuses keys that cannot be read, and says whether the password is wrong', async () => {
    const attributes = { purpose: 'mdm.webcrt', pem_certificate: text('cert/push.test-pair.pem') };
    const encrypted = { ...attributes, pem_private_key: text('cert/push.test-pair.key') };
    const unreadable = ['invalid_certificate', KEY];
    expect(await refused({ ...attributes, pem_private_key: 'x' })).toEqual([422, unreadable]);
    expect(await refused(encrypted)).toEqual([422, unreadable]);
    const password = ['invalid_certificate', '/data/attributes/password'];
    expect(await refused({ ...encrypted, password: 'wrong' })).toEqual([422, password]);
    const broken = { ...encrypted, pem_certificate: 'x', password: 'wrong' };
    const fault = ['invalid_certificate', CERTIFICATE];
    expect(await refused(broken)).toEqual([422, fault, password]);
  });

  it('refuses PKCS #12 that does not open', async () => {
    const purpose = 'mdm.encrypt';
    const pkcs12 = fixture('cert/push.test-pair.p12').toString('base64');
    const at = '/data/attributes/pkcs12';
    const password = ['invalid_certificate', '/data/attributes/password'];
    expect(await refused({ purpose, pkcs12 })).toEqual([422, password]);
    expect(await refused({ purpose, pkcs12, password: 'x' })).toEqual([422, password]);
    expect(await refused({ purpose, pkcs12: 'x!' })).toEqual([422, ['invalid_certificate', at]]);
    const cut = pkcs12.slice(0, 400);
    expect(await refused({ purpose, pkcs12: cut })).toEqual([422, ['invalid_pkcs12', at]]);
  });

  it('refuses what is not valid now', async () => {
    const past = {
      notBefore: new Date(Date.now() - 2 * DAY),
      notAfter: new Date(Date.now() - DAY),
    };
    const future = {
      notBefore: new Date(Date.now() + DAY),
      notAfter: new Date(Date.now() + 2 * DAY),
    };
    const expected = [422, ['certificate_not_valid', CERTIFICATE]];
    for (const times of [past, future]) {
      const pem_certificate = certificatePem((await makeIdentity(times)).certificate);
      expect(await refused({ purpose: 'mdm.encrypt', pem_certificate })).toEqual(expected);
      const { body } = await client.post('/certificates', {
        purpose: 'mdm.encrypt',
        pem_certificate,
      });
      expect(body.errors[0].detail).toMatch(/Z; \?force=true stores it all the same$/);
    }
  });

  it('reports every fault of a certificate', async () => {
    const pem_certificate = text('cert/device.apple-iphone-device-ca.sha1.pem');
    expect(await refused({ pem_certificate }, '/push_certificates')).toEqual([
      422,
      ['validation_failed', CERTIFICATE],
      ['certificate_not_valid', CERTIFICATE],
      ['validation_failed', CERTIFICATE],
    ]);
  });

  it('refuses a key of less than 2048 bits', async () => {
    const { certificate } = identityOf(await generateRsaKeyPair(1024));
    const response = await client.post('/certificates', {
      purpose: 'mdm.encrypt',
      pem_certificate: certificatePem(certificate),
    });
    expect(faults(response)).toEqual([422, ['validation_failed', CERTIFICATE]]);
    expect(response.body.errors[0].detail).toBe('its key has 1024 bits; 2048 are needed');
  });

  it('refuses a purpose that it does not fit', async () => {
    const authority = await makeAuthority();
    const forServers = await makeIdentity({ extendedKeyUsage: ['1.3.6.1.5.5.7.3.1'] });
    const forClients = await makeIdentity({ extendedKeyUsage: ['1.3.6.1.5.5.7.3.2'] });
    const cases: [string, string][] = [
      ['/push_certificates', text('cert/push.mock-no-uid.pem')],
      [
        '/push_certificates',
        certificatePem((await makePushIdentity('com.apple.other')).certificate),
      ],
      ['/ca_certificates', certificatePem(forServers.certificate)],
      ['/ssl_certificates', certificatePem(forClients.certificate)],
    ];
    const expected = [422, ['validation_failed', CERTIFICATE]];
    for (const [path, pem_certificate] of cases) {
      expect([path, await refused({ pem_certificate }, path)]).toEqual([path, expected]);
    }
    for (const { certificate } of [authority, forServers]) {
      const attributes = { purpose: 'mdm.device', pem_certificate: certificatePem(certificate) };
      expect(await refused(attributes)).toEqual(expected);
    }
    const unknown = {
      purpose: 'mdm.other',
      pem_certificate: certificatePem(authority.certificate),
    };
    expect(await refused(unknown)).toEqual([
      422,
      ['validation_failed', '/data/attributes/purpose'],
    ]);
  });

  it('refuses one that exists already, whatever its form', async () => {
    const { certificate } = await makeIdentity();
    const pem_certificate = certificatePem(certificate);
    await client.create('/certificates', { purpose: 'mdm.encrypt', pem_certificate });
    const again = { purpose: 'mdm.webcrt', pem_certificate: certificate.der.toString('base64') };
    expect(await refused(again)).toEqual([409, ['already_exists', CERTIFICATE]]);
    const { id } = await api.knex('certificates').orderBy('id', 'desc').first('id');
    const { body } = await client.post('/certificates', again);
    expect(body.errors[0].detail).toBe(
      `this certificate is there already: id ${id}, purpose mdm.encrypt`,
    );
  });

  it('says what to do with one that was revoked', async () => {
    const { certificate } = await makeIdentity();
    const attributes = { purpose: 'mdm.encrypt', pem_certificate: certificatePem(certificate) };
    const { id } = await client.create('/certificates', attributes);
    const revoked_at = new Date('2026-03-04T05:00:00Z');
    await api.knex('certificates').where({ id }).update({ revoked_at });
    const { body } = await client.post('/certificates', attributes);
    expect(body.errors[0].detail).toBe(
      `this certificate is there already: id ${id}, purpose mdm.encrypt, and was revoked on ` +
        '2026-03-04, so it is not used. Have another one issued; if it was revoked by mistake, ' +
        `DELETE /api/v1/certificates/${id} and add it again`,
    );
    expect((await client.delete(`/certificates/${id}`)).status).toBe(204);
    await client.create('/certificates', attributes);
  });

  it('refuses a push certificate whose topic is ambiguous', async () => {
    const [one, other] = [PUSH_TOPIC, `${PUSH_TOPIC}.2`];
    const subject = [one, other].map((value) => ({ type: 'UID', value }));
    const pem_certificate = certificatePem((await makeIdentity({ subject })).certificate);
    const response = await client.post('/push_certificates', { pem_certificate });
    expect(faults(response)).toEqual([422, ['validation_failed', CERTIFICATE]]);
    expect(response.body.errors[0].detail).toBe(
      'its subject has several UIDs: its topic is ambiguous',
    );
  });

  it('refuses an invalid Apple account', async () => {
    const identity = await makePushIdentity();
    const attributes = { pem_certificate: certificatePem(identity.certificate) };
    for (const apple_account of ['  ', 'ada', '@', '+12']) {
      const given = { ...attributes, apple_account };
      const fault = ['validation_failed', '/data/attributes/apple_account'];
      expect(await refused(given, '/push_certificates')).toEqual([422, fault]);
    }
  });

  it('warns of a push certificate that no CA has issued', async () => {
    const identity = await makePushIdentity(`${PUSH_TOPIC}.warned`);
    const response = await client.post('/push_certificates', {
      pem_certificate: certificatePem(identity.certificate),
      pem_private_key: keyPem(identity),
    });
    expect([response.status, response.body.meta]).toEqual([
      201,
      {
        count: 1,
        warnings: [
          {
            code: 'push_certificate_self_signed',
            detail: expect.stringContaining('is signed by itself, not issued by Apple'),
          },
        ],
      },
    ]);
  });

  it('refuses certificates that are no chain', async () => {
    const [one, other] = [await makeIdentity(), await makeIdentity()];
    const both = certificatePem(one.certificate) + certificatePem(other.certificate);
    const fault = ['validation_failed', CERTIFICATE];
    expect(await refused({ purpose: 'mdm.encrypt', pem_certificate: both })).toEqual([422, fault]);
    const many = both.repeat(400);
    const tooLong = await client.post('/certificates', {
      purpose: 'mdm.encrypt',
      pem_certificate: many,
    });
    expect(faults(tooLong)).toEqual([422, fault]);
  });

  it('requires the role admin', async () => {
    const { certificate } = await makeIdentity();
    const attributes = { purpose: 'mdm.encrypt', pem_certificate: certificatePem(certificate) };
    for (const role of ['viewer', 'operator']) {
      const response = await client.post('/certificates', attributes).set('X-Role', role);
      expect(faults(response)).toEqual([403, ['forbidden', undefined]]);
    }
  });

  it('reads all that the certificate says', async () => {
    const { certificate } = await makePushIdentity();
    const pem_certificate = certificatePem(certificate);
    const response = await client.post('/push_certificates', { pem_certificate });
    const [{ id, attributes, relationships, links }] = response.body.data;
    expect(response.status).toBe(201);
    expect(response.headers.location).toBe(`/api/v1/certificates/${id}`);
    expect(response.body.meta).toEqual({ count: 1 });
    expect(links.self).toBe(`/api/v1/certificates/${id}`);
    const seconds = (date: Date) => `${date.toISOString().slice(0, 19)}+00:00`;
    expect(attributes).toEqual({
      not_before: seconds(certificate.notBefore),
      not_after: seconds(certificate.notAfter),
      pem_certificate,
      subject: `${certificate.subject}`,
      purpose: 'mdm.pushcert',
      issuer: certificate.subject,
      serial: certificate.serialHex,
      fingerprint_sha256: certificate.fingerprint.toString('hex'),
      x509_cn: certificate.commonName,
      push_topic: PUSH_TOPIC,
      is_ca: false,
      revoked_at: null,
      revocation_reason: null,
      is_own_ca: false,
      issues_identities: false,
      apple_account: null,
      subject_alt_names: [],
      key_usage: ['digitalSignature', 'keyEncipherment'],
      extended_key_usage: null,
      key_type: 'EC',
      key_size: 256,
      signature_algorithm: 'ecdsa-with-SHA256',
      chain: [],
      created_at: expect.any(String),
    });
    expect(relationships.rsa_private_key.data).toBeNull();
    expect((await rowOf(id)).der.equals(certificate.der)).toBe(true);
  });

  it('sets the purpose of its collection, and no other', async () => {
    const pem_certificate = text('cert/push.mock.pem');
    const wrong = { pem_certificate, purpose: 'mdm.webcrt' };
    expect(await refused(wrong, '/push_certificates')).toEqual([
      409,
      ['conflict', '/data/attributes/purpose'],
    ]);
    const right = { pem_certificate, purpose: 'mdm.pushcert' };
    const { attributes } = await client.create('/push_certificates', right);
    expect(attributes.push_topic).toBe(
      'com.apple.mgmt.External.18a16429-886b-41f1-9c30-2bd04ae4fc37',
    );
  });

  it('lists each in its collection, and only there', async () => {
    const made = {
      ca_certificates: await makeAuthority(),
      push_certificates: await makePushIdentity(),
      ssl_certificates: await makeIdentity(),
    };
    for (const [collection, { certificate }] of Object.entries(made)) {
      const attributes = { pem_certificate: certificatePem(certificate) };
      const { id } = await client.create(`/${collection}`, attributes);
      for (const other of [...Object.keys(made), 'certificates']) {
        const { body } = await client.get(`/${other}/?sort=-id&page[size]=1`);
        const isThere = body.data[0]?.id === id;
        expect([other, isThere]).toEqual([other, other === collection || other === 'certificates']);
      }
    }
  });

  it('finds the leaf certificate in a chain in any order, and stores the rest', async () => {
    const root = await makeAuthority({ pathLength: 2 });
    const middle = await makeAuthority({ issuedBy: root });
    const leaf = await makeIdentity({ issuedBy: middle });
    const pems = [root, middle, leaf].map(({ certificate }) => certificatePem(certificate));
    const orders = [
      [0, 1, 2],
      [2, 1, 0],
      [1, 2, 0, 1],
    ];
    for (const order of orders) {
      const pem_certificate = order.map((at) => `some text\n${pems[at]}`).join('\n');
      const { id, attributes } = await client.create('/ssl_certificates', { pem_certificate });
      expect(attributes.subject).toBe(leaf.certificate.subject);
      expect(attributes.pem_certificate).toBe(pems[2]);
      const { chain_der } = await rowOf(id);
      expect(chain_der).toEqual(Buffer.concat([middle.certificate.der, root.certificate.der]));
      await client.delete(`/certificates/${id}`).expect(204);
    }
  });

  it('accepts a published PKCS #12 and stores its key once, sealed', async () => {
    const pkcs12 = fixture('cert/push.test-pair.p12').toString('base64');
    const input = { purpose: 'mdm.encrypt', pkcs12, password: 'secret' };
    const { id, attributes, relationships } = await client.create('/certificates', input);
    expect(attributes.subject).toBe('CN=mdmpush');
    expect(attributes.pem_certificate).toBe(text('cert/push.test-pair.pem').replace(/\r/g, ''));
    const key = await client.get(`/rsa_private_keys/${relationships.rsa_private_key?.data?.id}`);
    expect(key.body.data.attributes).toMatchObject({
      name: 'mdmpush',
      key_type: 'RSA',
      key_size: 2048,
    });
    await client.delete(`/certificates/${id}`).expect(204);
    const again = await client.create('/certificates', input);
    expect(again.relationships.rsa_private_key?.data).toEqual(relationships.rsa_private_key?.data);
  });

  it('moves a key out of the field for the certificate, and shows it nowhere', async () => {
    const identity = await makeIdentity();
    const pem = certificatePem(identity.certificate);
    const response = await client.post('/ssl_certificates', {
      pem_certificate: keyPem(identity) + pem,
    });
    expect(response.status).toBe(201);
    expect(response.body.data[0].attributes.pem_certificate).toBe(pem);
    expect(response.text).not.toContain('PRIVATE');
    expect(response.body.data[0].relationships.rsa_private_key.data).toMatchObject({
      type: 'rsa_private_keys',
    });
  });

  it('is linked to a stored key with the same public key', async () => {
    const identity = await makeIdentity();
    const first = await client.create('/ssl_certificates', {
      pem_certificate: certificatePem(identity.certificate),
      pem_private_key: keyPem(identity),
    });
    const renewed = identityOf(identity, { subject: [{ type: 'CN', value: 'renewed' }] });
    const pem_certificate = certificatePem(renewed.certificate);
    const second = await client.create('/ssl_certificates', { pem_certificate });
    expect(second.relationships.rsa_private_key?.data).toEqual(
      first.relationships.rsa_private_key?.data,
    );
  });

  it('is created below a key that is its own, and below no other', async () => {
    const [one, other] = [await makeIdentity(), await makeIdentity()];
    const { relationships } = await client.create('/ssl_certificates', {
      pem_certificate: certificatePem(one.certificate),
      pem_private_key: keyPem(one),
    });
    const path = `/rsa_private_keys/${relationships.rsa_private_key?.data?.id}/certificates`;
    const wrong = await client.post(path, {
      purpose: 'mdm.encrypt',
      pem_certificate: certificatePem(other.certificate),
    });
    const pointer = '/data/relationships/rsa_private_key/data';
    expect(faults(wrong)).toEqual([422, ['key_mismatch', pointer]]);
    const renewed = identityOf(one, { subject: [{ type: 'CN', value: 'same key' }] });
    const pem_certificate = certificatePem(renewed.certificate);
    await client.create(path, { purpose: 'mdm.encrypt', pem_certificate });
    expect((await client.get(path)).body.meta.total).toBe(2);
  });
});

describe('a certificate that was created without its key', () => {
  type Pair = Awaited<ReturnType<typeof makeIdentity>>;
  const withKey = ({ certificate, privateKey }: Pair) => ({
    pem_certificate: certificatePem(certificate),
    pem_private_key: keyPem({ privateKey }),
  });

  async function bare(overrides: Parameters<typeof makeIdentity>[0] = {}) {
    const identity = await makeIdentity(overrides);
    const pem_certificate = certificatePem(identity.certificate);
    const { id } = await client.create('/ssl_certificates', { pem_certificate });
    return { identity, id };
  }

  it('does not get it with another purpose, or once it is revoked', async () => {
    const { identity, id } = await bare();
    const exists = [409, ['already_exists', CERTIFICATE]];
    const other = { ...withKey(identity), purpose: 'mdm.encrypt' };
    expect(await refused(other)).toEqual(exists);
    await api.knex('certificates').where({ id }).update({ revoked_at: new Date() });
    expect(await refused(withKey(identity), '/ssl_certificates')).toEqual(exists);
    expect((await rowOf(id)).rsa_private_key_id).toBeNull();
  });

  it('is refused as a duplicate when the request has no key either', async () => {
    const { identity } = await bare();
    const pem_certificate = certificatePem(identity.certificate);
    const exists = [409, ['already_exists', CERTIFICATE]];
    expect(await refused({ pem_certificate }, '/ssl_certificates')).toEqual(exists);
  });

  it('gets the key, and the chain that it lacked, when it is created again with them', async () => {
    const root = await makeAuthority();
    const { identity, id } = await bare({ issuedBy: root });
    const pem_certificate = certificatePem(identity.certificate) + certificatePem(root.certificate);
    const again = { pem_certificate, pem_private_key: keyPem(identity) };
    const made = await client.create('/ssl_certificates', again);
    expect(made.id).toBe(id);
    const row = await rowOf(id);
    expect(row.chain_der).toEqual(root.certificate.der);
    expect(made.relationships.rsa_private_key?.data?.id).toBe(row.rsa_private_key_id);
    const lines = await api.knex('audit_events').where({ target_id: String(id) });
    const certificate = expect.stringContaining(row.fingerprint.toString('hex'));
    const sent = { pem_certificate: [null, certificate], purpose: [null, 'mdm.webcrt'] };
    expect(lines.map(({ action, details }) => [action, details.changes])).toEqual([
      ['certificates.create', sent],
      [
        'certificates.create',
        {
          ...sent,
          pem_private_key: 'changed',
          rsa_private_key: [null, row.rsa_private_key_id],
        },
      ],
    ]);
    expect(await refused(again, '/ssl_certificates')).toEqual([
      409,
      ['already_exists', CERTIFICATE],
    ]);
  });

  it('keeps the chain that it has', async () => {
    const root = await makeAuthority();
    const identity = await makeIdentity({ issuedBy: root });
    const pem_certificate = certificatePem(identity.certificate) + certificatePem(root.certificate);
    const { id } = await client.create('/ssl_certificates', { pem_certificate });
    await client.create('/ssl_certificates', withKey(identity));
    expect((await rowOf(id)).chain_der).toEqual(root.certificate.der);
  });

  it('gets the key once, from however many requests at the same instant', async () => {
    const { identity, id } = await bare();
    const replies = await Promise.all(
      Array.from({ length: 5 }, () => client.post('/ssl_certificates', withKey(identity))),
    );
    const statuses = replies.map(({ status }) => status).sort();
    expect(statuses).toEqual([201, 409, 409, 409, 409]);
    const good = replies.find(({ status }) => status === 201);
    expect(good?.body.data[0].id).toBe(id);
  });

  it('repeats the first answer for the same Idempotency-Key', async () => {
    const { identity, id } = await bare();
    const send = () =>
      client.post('/ssl_certificates', withKey(identity)).set('Idempotency-Key', `key-of-${id}`);
    const [first, second] = [await send(), await send()];
    expect([first.status, second.status, second.body]).toEqual([201, 201, first.body]);
    expect(second.headers['idempotency-replayed']).toBe('true');
    expect(second.headers.location).toBe(`/api/v1/certificates/${id}`);
  });
});

describe('changing certificates', () => {
  async function make(identity: Awaited<ReturnType<typeof makeIdentity>>, purpose: string) {
    const pem_certificate = certificatePem(identity.certificate);
    return client.create('/certificates', { purpose, pem_certificate });
  }

  it('accepts another purpose that fits', async () => {
    const { id } = await make(await makePushIdentity(), 'mdm.encrypt');
    const change = (purpose: string) =>
      client.patch(`/certificates/${id}`, { attributes: { purpose } });
    const pushing = await change('mdm.pushcert');
    expect(pushing.body.data[0].attributes).toMatchObject({
      purpose: 'mdm.pushcert',
      push_topic: PUSH_TOPIC,
    });
    expect((await change('mdm.webcrt')).body.data[0].attributes.push_topic).toBeNull();
    expect(faults(await change('mdm.cacert'))).toEqual([
      422,
      ['validation_failed', '/data/attributes/purpose'],
    ]);
    expect((await rowOf(id)).purpose).toBe('mdm.webcrt');
  });

  it('ignores the certificate itself', async () => {
    const { id, attributes } = await make(await makeIdentity(), 'mdm.encrypt');
    const { body } = await client.patch(`/certificates/${id}`, {
      attributes: { pem_certificate: 'x', pkcs12: 'x', subject: 'CN=x', password: 'x' },
    });
    expect(body.data[0].attributes).toEqual(attributes);
  });

  describe('adds a private key', () => {
    async function bare() {
      const identity = await makeIdentity();
      const { id } = await make(identity, 'mdm.encrypt');
      const give = (attributes: Json, extra: Json = {}) =>
        client.patch(`/certificates/${id}`, { attributes, ...extra });
      return { identity, id, give };
    }

    it('that is its own and can be read, or stores nothing', async () => {
      const { id, give } = await bare();
      const before = await api.knex('rsa_private_keys').count();
      const foreign = await give({ pem_private_key: keyPem(await makeIdentity()) });
      expect(faults(foreign)).toEqual([422, ['key_mismatch', KEY]]);
      const unreadable = await give({ pem_private_key: 'x' });
      expect(faults(unreadable)).toEqual([422, ['invalid_certificate', KEY]]);
      const encrypted = { pem_private_key: text('cert/push.test-pair.key') };
      expect(faults(await give(encrypted))).toEqual([422, ['invalid_certificate', KEY]]);
      const wrong = await give({ ...encrypted, password: 'wrong' });
      const password = ['invalid_certificate', '/data/attributes/password'];
      expect(faults(wrong)).toEqual([422, password]);
      const right = await give({ ...encrypted, password: 'secret' });
      expect(faults(right)).toEqual([422, ['key_mismatch', KEY]]);
      expect((await rowOf(id)).rsa_private_key_id).toBeNull();
      expect(await api.knex('rsa_private_keys').count()).toEqual(before);
    });

    it('stored once, shown nowhere, with a line of audit that only names it', async () => {
      const { identity, id, give } = await bare();
      const given = await give({ pem_private_key: keyPem(identity), pem_certificate: 'x' });
      expect(given.status).toBe(200);
      expect(given.text).not.toContain('PRIVATE');
      const link = given.body.data[0].relationships.rsa_private_key.data;
      const key = await api.knex('rsa_private_keys').where({ id: link.id }).first();
      expect(key).toMatchObject({ name: identity.certificate.commonName, key_type: 'EC' });
      expect(key.sealed_pkcs8.includes(exportPrivateKey(identity.privateKey))).toBe(false);
      const count = await api.knex('rsa_private_keys').count();
      const again = await give({ pem_private_key: keyPem(identity) });
      expect(again.body.data[0].relationships.rsa_private_key.data).toEqual(link);
      expect(await api.knex('rsa_private_keys').count()).toEqual(count);
      const line = await api.knex('audit_events').where({ target_id: String(id) });
      const fingerprint = identity.certificate.fingerprint.toString('hex');
      const certificate = [null, `CERTIFICATE sha256:${fingerprint}`];
      const pem_private_key = 'changed';
      const rsa_private_key = [null, link.id];
      expect(line.map(({ action, details }) => [action, details.changes])).toEqual([
        ['certificates.create', { purpose: [null, 'mdm.encrypt'], pem_certificate: certificate }],
        ['certificates.update', { pem_private_key, rsa_private_key }],
        ['certificates.update', { pem_private_key }],
      ]);
    });

    it('also when the links that were read are sent back, unless they are of another key', async () => {
      const { identity, give } = await bare();
      const key = { pem_private_key: keyPem(identity) };
      const linked = (data: unknown) => ({ relationships: { rsa_private_key: { data } } });
      const other = await makeIdentity();
      const unrelated = await client.create('/ssl_certificates', {
        pem_certificate: certificatePem(other.certificate),
        pem_private_key: keyPem(other),
      });
      const pointer = '/data/relationships/rsa_private_key/data';
      const wrong = await give(key, linked(unrelated.relationships.rsa_private_key?.data));
      expect(faults(wrong)).toEqual([422, ['key_mismatch', pointer]]);
      const { body } = await give(key, linked(null));
      const { data } = body.data[0].relationships.rsa_private_key;
      expect(data).toMatchObject({ type: 'rsa_private_keys' });
      const kept = await give({ pem_private_key: null });
      expect(kept.body.data[0].relationships.rsa_private_key.data).toEqual(data);
    });
  });

  it('links the key that belongs to it, and unlinks it', async () => {
    const identity = await makeIdentity();
    const { id, relationships } = await client.create('/ssl_certificates', {
      pem_certificate: certificatePem(identity.certificate),
      pem_private_key: keyPem(identity),
    });
    const other = await makeIdentity();
    const unrelated = await client.create('/ssl_certificates', {
      pem_certificate: certificatePem(other.certificate),
      pem_private_key: keyPem(other),
    });
    const link = (data: unknown) =>
      client.patch(`/certificates/${id}`, { relationships: { rsa_private_key: { data } } });
    const none = await link(null);
    expect(none.body.data[0].relationships.rsa_private_key.data).toBeNull();
    const pointer = '/data/relationships/rsa_private_key/data';
    const wrong = await link(unrelated.relationships.rsa_private_key?.data);
    expect(faults(wrong)).toEqual([422, ['key_mismatch', pointer]]);
    const own = await link(relationships.rsa_private_key?.data);
    expect(own.body.data[0].relationships).toEqual(relationships);
    const unknown = await link({ type: 'rsa_private_keys', id: 999_999 });
    expect(unknown.status).toBe(404);
  });
});

describe('certificates in use', () => {
  async function expectInUse(id: number, reason: string) {
    const removed = await client.delete(`/certificates/${id}`);
    expect(faults(removed)).toEqual([409, ['in_use', undefined]]);
    expect(removed.body.errors[0].detail).toContain(reason);
    const attributes = { purpose: 'dep.supervision' };
    const changed = await client.patch(`/certificates/${id}`, { attributes });
    expect(faults(changed)).toEqual([409, ['in_use', undefined]]);
    expect(await rowOf(id)).toBeDefined();
  }

  it('cannot be deleted while they identify devices', async () => {
    const { certificate } = await makeIdentity();
    const pem_certificate = certificatePem(certificate);
    const { id } = await client.create('/certificates', { purpose: 'mdm.device', pem_certificate });
    const { fingerprint } = certificate;
    await api.knex('device_identities').insert({ fingerprint, state: 'active' });
    await expectInUse(id, 'a device identifies itself by it');
    await api.knex('device_identities').where({ fingerprint }).delete();
    const nonce = Buffer.alloc(16, 1);
    const spent = { nonce, csr_fingerprint: Buffer.alloc(32), certificate_id: id };
    await api.knex('scep_challenges').insert(spent);
    await expectInUse(id, 'a device identifies itself by it');
    await api.knex('scep_challenges').where({ nonce }).delete();
    await client.delete(`/certificates/${id}`).expect(204);
  });

  it('cannot be deleted while enrolled devices are pushed with them, until there is another', async () => {
    const topic = 'com.apple.mgmt.External.in-use';
    const [old, renewed] = [await makePushIdentity(topic), await makePushIdentity(topic)];
    const create = (identity: typeof old) =>
      client.create('/push_certificates', {
        pem_certificate: certificatePem(identity.certificate),
        pem_private_key: keyPem(identity),
      });
    const { id } = await create(old);
    const keyless = await makePushIdentity(topic);
    const useless = await client.create('/push_certificates', {
      pem_certificate: certificatePem(keyless.certificate),
    });
    await api.knex('devices').insert({ udid: 'push-user', topic, is_enrolled: true });
    await expectInUse(id, 'enrolled devices get their pushes by it');
    await client.delete(`/certificates/${useless.id}`).expect(204);
    const { id: newer } = await create(renewed);
    await client.delete(`/certificates/${id}`).expect(204);
    await expectInUse(newer, 'enrolled devices get their pushes by it');
    await api.knex('devices').where({ udid: 'push-user' }).update({ is_enrolled: false });
    await client.delete(`/certificates/${newer}`).expect(204);
  });

  it('cannot be deleted as CAs that issue identities, or did', async () => {
    await api.knex('certificates').where({ purpose: 'mdm.cacert' }).delete();
    const [signing, later] = [await makeAuthority(), await makeAuthority()];
    const create = (authority: typeof signing) =>
      client.create('/ca_certificates', {
        pem_certificate: certificatePem(authority.certificate),
        pem_private_key: keyPem(authority),
      });
    const [first, second] = [await create(signing), await create(later)];
    const issuing = { issues_identities: true, is_own_ca: true };
    await api.knex('certificates').where({ id: first.id }).update(issuing);
    await expectInUse(first.id, 'new identities of devices are issued by it');
    const unlinked = await client.patch(`/certificates/${first.id}`, {
      relationships: { rsa_private_key: { data: null } },
    });
    expect(faults(unlinked)).toEqual([409, ['in_use', undefined]]);
    const device = await makeIdentity({ issuedBy: later });
    const pem_certificate = certificatePem(device.certificate);
    await client.create('/certificates', { purpose: 'mdm.device', pem_certificate });
    await expectInUse(second.id, 'identities of devices were issued by it');
    const trusted = await client.create('/ca_certificates', {
      pem_certificate: certificatePem((await makeAuthority()).certificate),
    });
    await client.delete(`/certificates/${trusted.id}`).expect(204);
  });
});
