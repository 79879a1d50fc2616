import { decodePemBlock, encodePem } from '../../../src/crypto/asn1/pem.js';
import { exportPublicKey, generateEcKeyPair } from '../../../src/crypto/keys/keys.js';
import { buildCsr, parseCsr } from '../../../src/crypto/x509/csr.js';
import { identityOf } from '../../crypto/identities.js';
import { nextKeys } from '../../helpers/prepared-keys.js';
import { createTestApi, type TestApi } from '../../jsonapi/test-api.js';
import {
  type CertificateResource,
  certificatePem,
  credentialClient,
  faults,
  type Json,
  keyPem,
} from '../certificate-samples.js';

const PATH = '/certificate_signing_requests';
const LABEL = 'CERTIFICATE REQUEST';

let api: TestApi;
let client: ReturnType<typeof credentialClient>;
beforeAll(async () => {
  api = await createTestApi();
  client = credentialClient(api);
});
afterAll(() => api.close());

function requestOf({ attributes }: CertificateResource) {
  return parseCsr(decodePemBlock(String(attributes.pem_request), LABEL));
}

async function refused(attributes: Json) {
  const keys = await api.knex('rsa_private_keys').count();
  const requests = await api.knex('certificate_signing_requests').count();
  const response = await client.post(PATH, { purpose: 'mdm.webcrt', ...attributes });
  expect(await api.knex('rsa_private_keys').count()).toEqual(keys);
  expect(await api.knex('certificate_signing_requests').count()).toEqual(requests);
  return faults(response);
}

const at = (name: string) => `/data/attributes/${name}`;

describe('creating certificate signing requests', () => {
  it.each<[string, Json, string[]]>([
    ['neither subject nor request', {}, ['subject']],
    ['both', { subject: 'CN=x', pem_request: 'x' }, ['subject']],
    ['a subject and its parts', { subject: 'CN=x', x509_cn: 'x' }, ['subject']],
    ['a part beside a request', { pem_request: 'x', email: 'a@example.com' }, ['subject']],
    ['parts that say nothing', { x509_cn: null, email: null }, ['subject']],
    ['empty parts', { x509_cn: '', x509_o: ' ' }, ['x509_o', 'x509_cn']],
    ['a country part spelled out', { x509_cn: 'x', x509_c: 'Germany' }, ['x509_c']],
    ['long parts', { x509_cn: 'x'.repeat(65), x509_l: 'x'.repeat(129) }, ['x509_cn', 'x509_l']],
    ['no address', { x509_cn: 'x', email: 'example.com' }, ['email']],
    [
      'key options beside a request',
      { pem_request: 'x', key_type: 'RSA', key_size: 2048, subject_alt_names: [] },
      ['key_type', 'key_size', 'subject_alt_names'],
    ],
    [
      'an EC key for a push certificate',
      { subject: 'CN=x', key_type: 'EC', purpose: 'mdm.pushcert' },
      ['key_type'],
    ],
    [
      'a long key for a push certificate',
      { subject: 'CN=x', key_size: 4096, purpose: 'mdm.pushcert' },
      ['key_size'],
    ],
    [
      'an EC key for a vendor certificate',
      { subject: 'CN=x', key_type: 'EC', key_size: 384, purpose: 'mdm.vendor' },
      ['key_type'],
    ],
    [
      'an Apple account of a server',
      { subject: 'CN=x', apple_account: 'it@example.com' },
      ['apple_account'],
    ],
    ['no name', { subject: 'Example' }, ['subject']],
    ['an empty name', { subject: '' }, ['subject']],
    ['a name that ends in a lone backslash', { subject: 'CN=x\\' }, ['subject']],
    [
      'what is no Apple account',
      { subject: 'CN=x', purpose: 'mdm.pushcert', apple_account: ' ' },
      ['apple_account'],
    ],
    ['a country spelled out', { subject: 'CN=x,C=Germany' }, ['subject']],
    ['a country of digits', { subject: '/C=49/CN=x' }, ['subject']],
    ['a long common name', { subject: `CN=${'x'.repeat(65)}` }, ['subject']],
    ['both at once', { subject: `C=DEU,2.5.4.3=${'x'.repeat(65)}` }, ['subject', 'subject']],
    ['no subject', { subject: null }, ['subject']],
    ['another kind of key', { subject: 'CN=x', key_type: 'DSA' }, ['key_type']],
    ['a small key', { subject: 'CN=x', key_size: 1024 }, ['key_size']],
    ['a huge key', { subject: 'CN=x', key_size: 16_384 }, ['key_size']],
    ['an odd key', { subject: 'CN=x', key_size: 2049 }, ['key_size']],
    ['an unknown curve', { subject: 'CN=x', key_type: 'EC', key_size: 2048 }, ['key_size']],
    [
      'several faults',
      { subject: 'x', key_size: 1, subject_alt_names: ['DNS:a', 'IP:a', 'a b'] },
      ['subject', 'subject_alt_names/1', 'subject_alt_names/2', 'key_size'],
    ],
  ])('refuses %s', async (_what, attributes, names) => {
    const expected = names.map((name) => ['validation_failed', at(name)]);
    expect(await refused(attributes)).toEqual([422, ...expected]);
  });

  it('refuses requests that cannot be read or are not signed by their key', async () => {
    const [one, other] = [await generateEcKeyPair(), await generateEcKeyPair()];
    const forged = buildCsr({
      subject: [],
      publicKey: one.publicKey,
      privateKey: other.privateKey,
    });
    const invalid = (code: string) => [422, [code, at('pem_request')]];
    expect(await refused({ pem_request: 'x' })).toEqual(invalid('invalid_asn1'));
    const key = encodePem('PUBLIC KEY', exportPublicKey(one.publicKey));
    expect(await refused({ pem_request: key })).toEqual(invalid('invalid_asn1'));
    const pem_request = encodePem(LABEL, forged);
    expect(await refused({ pem_request })).toEqual(invalid('invalid_signature'));
  });

  it('makes an RSA key and a request by default', async () => {
    const subject = '/C=US/O=Example, Inc./CN=mdm.example.com';
    const made = await client.create(PATH, { subject, purpose: 'mdm.webcrt' });
    expect(made.attributes).toEqual({
      subject: 'CN=mdm.example.com,O=Example\\, Inc.,C=US',
      purpose: 'mdm.webcrt',
      pem_request: expect.stringMatching(/^-----BEGIN CERTIFICATE REQUEST-----\n/),
      created_at: expect.any(String),
      apple_account: null,
      key_type: 'RSA',
      key_size: 2048,
      subject_alt_names: ['DNS:mdm.example.com'],
    });
    const request = requestOf(made);
    expect(request.subject).toBe(made.attributes.subject);
    const key = await client.get(
      `/rsa_private_keys/${made.relationships.rsa_private_key?.data?.id}`,
    );
    expect(key.body.data.attributes).toMatchObject({
      name: 'mdm.example.com',
      key_type: 'RSA',
      key_size: 2048,
      fingerprint_sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  it('refuses a key that Apple would refuse, wherever it comes from', async () => {
    const keys = await generateEcKeyPair();
    const pem_request = encodePem(LABEL, buildCsr({ subject: [], ...keys }));
    const purpose = 'mdm.pushcert';
    const taken = await refused({ pem_request, purpose });
    expect(taken).toEqual([422, ['validation_failed', at('pem_request')]]);
    const made = await client.create(PATH, { pem_request, purpose: 'mdm.webcrt' });
    const changed = await client.patch(`${PATH}/${made.id}`, { attributes: { purpose } });
    expect(faults(changed)).toEqual([422, ['validation_failed', at('purpose')]]);
    const stored = await client.create(PATH, {
      subject: 'CN=x',
      key_type: 'EC',
      purpose: 'mdm.webcrt',
    });
    const key = stored.relationships.rsa_private_key?.data?.id;
    const below = await client.post(`/rsa_private_keys/${key}${PATH}`, {
      subject: 'CN=x',
      purpose,
    });
    expect(faults(below)).toEqual([
      422,
      ['validation_failed', '/data/relationships/rsa_private_key/data'],
    ]);
    expect((await client.get(`${PATH}/${made.id}`)).body.data.attributes.purpose).toBe(
      'mdm.webcrt',
    );
  });

  it('builds the subject from its parts, least specific first', async () => {
    const made = await client.create(PATH, {
      purpose: 'mdm.pushcert',
      apple_account: 'it@example.com',
      x509_cn: ' Example push ',
      x509_o: 'Example, Inc.',
      x509_ou: 'IT',
      x509_l: 'Zürich',
      x509_st: 'ZH',
      x509_c: 'CH',
      email: 'it@example.com',
    });
    expect(made.attributes).toMatchObject({
      subject:
        'emailAddress=it@example.com,CN=Example push,OU=IT,O=Example\\, Inc.,L=Zürich,ST=ZH,C=CH',
      apple_account: 'it@example.com',
      key_type: 'RSA',
      key_size: 2048,
      subject_alt_names: [],
    });
    expect(requestOf(made).subject).toBe(made.attributes.subject);
    expect(Object.keys(made.attributes)).not.toContain('x509_cn');
  });

  it.each([
    ['mdm.example.com', ['DNS:mdm.example.com']],
    ['*.example.com', ['DNS:*.example.com']],
    ['192.0.2.1', ['IP:192.0.2.1']],
    ['2001:db8::1', ['IP:2001:db8::1']],
    ['localhost', ['DNS:localhost']],
    ['Example server', []],
    ['mdm', []],
    ['version 1.0', []],
    ['a_b.example.com', []],
  ])('asks for a server named %s, since browsers look at nothing else', async (x509_cn, names) => {
    const wanted = { x509_cn, key_type: 'EC' };
    const made = await client.create(PATH, { ...wanted, purpose: 'mdm.webcrt' });
    expect(made.attributes.subject_alt_names).toEqual(names);
    expect(requestOf(made).keyUsage).toEqual(['digitalSignature']);
    const other = await client.create(PATH, { ...wanted, purpose: 'mdm.encrypt' });
    expect(other.attributes.subject_alt_names).toEqual([]);
    expect(requestOf(other).keyUsage).toBeUndefined();
  });

  it('stores alternative names in their order', async () => {
    const made = await client.create(PATH, {
      x509_cn: 'mdm.example.com',
      key_type: 'EC',
      purpose: 'mdm.webcrt',
      subject_alt_names: ['other.example.com'],
    });
    expect(made.attributes.subject_alt_names).toEqual(['DNS:other.example.com']);
  });

  it('makes EC keys and asks for alternative names', async () => {
    const made = await client.create(PATH, {
      subject: 'CN=mdm.example.com',
      purpose: 'mdm.webcrt',
      key_type: 'EC',
      key_size: 384,
      subject_alt_names: [
        ...['mdm.example.com', 'DNS:*.example.com', '192.0.2.1', 'IP:2001:db8::1'],
        ...['email:me@example.com', 'https://example.com/x'],
      ],
    });
    expect(made.attributes).toMatchObject({ key_type: 'EC', key_size: 384 });
    const request = requestOf(made);
    expect(request.publicKey.asymmetricKeyDetails?.namedCurve).toBe('secp384r1');
    expect(request.subjectAltNames).toEqual([
      { type: 'dns', value: 'mdm.example.com' },
      { type: 'dns', value: '*.example.com' },
      { type: 'ip', value: '192.0.2.1' },
      { type: 'ip', value: '2001:0db8:0000:0000:0000:0000:0000:0001' },
      { type: 'email', value: 'me@example.com' },
      { type: 'uri', value: 'https://example.com/x' },
    ]);
  });

  it('takes a common name of 64 characters, whatever their bytes', async () => {
    const subject = `CN=${'ü'.repeat(64)},C=de`;
    const made = await client.create(PATH, { subject, purpose: 'mdm.webcrt', key_type: 'EC' });
    expect(made.attributes.subject).toBe(subject);
  });

  it('takes a request made elsewhere, in PEM or DER', async () => {
    const keys = await nextKeys();
    const subject = [{ type: 'CN', value: 'elsewhere' }];
    const der = buildCsr({ subject, ...keys });
    for (const pem_request of [encodePem(`NEW ${LABEL}`, der), der.toString('base64')]) {
      const made = await client.create(PATH, { pem_request, purpose: 'mdm.pushcert' });
      expect(made.attributes).toMatchObject({
        subject: 'CN=elsewhere',
        pem_request: encodePem(LABEL, der),
      });
      expect(made.relationships.rsa_private_key?.data).toBeNull();
    }
  });

  it('uses a stored key below it, and links a request of that key', async () => {
    const first = await client.create(PATH, {
      subject: 'CN=first',
      key_type: 'EC',
      purpose: 'mdm.webcrt',
    });
    const key = first.relationships.rsa_private_key?.data;
    const path = `/rsa_private_keys/${key?.id}${PATH}`;
    const again = await client.create(path, { subject: 'CN=again', purpose: 'mdm.webcrt' });
    expect(again.relationships.rsa_private_key?.data).toEqual(key);
    expect(requestOf(again).publicKey.equals(requestOf(first).publicKey)).toBe(true);
    const { pem_request } = again.attributes;
    const taken = await client.create(PATH, { pem_request, purpose: 'mdm.webcrt' });
    expect(taken.relationships.rsa_private_key?.data).toEqual(key);
    const other = await client.create(PATH, {
      subject: 'CN=other',
      key_type: 'EC',
      purpose: 'mdm.webcrt',
    });
    const wrong = await client.post(path, {
      pem_request: other.attributes.pem_request,
      purpose: 'mdm.webcrt',
    });
    const pointer = '/data/relationships/rsa_private_key/data';
    expect(faults(wrong)).toEqual([422, ['key_mismatch', pointer]]);
  });

  it('links its key to the certificate that is issued for it', async () => {
    const made = await client.create(PATH, {
      subject: 'CN=push',
      key_type: 'EC',
      purpose: 'mdm.webcrt',
    });
    const authority = identityOf(await generateEcKeyPair());
    const { publicKey, subjectRaw } = requestOf(made);
    const { certificate } = identityOf(
      { publicKey, privateKey: authority.privateKey },
      { subject: subjectRaw },
    );
    const pem_certificate = certificatePem(certificate);
    const answer = await client.create('/ssl_certificates', { pem_certificate });
    expect(answer.relationships.rsa_private_key?.data).toEqual(
      made.relationships.rsa_private_key?.data,
    );
  });

  it('can be changed to another purpose, and is deleted without its key', async () => {
    const made = await client.create(PATH, {
      subject: 'CN=gone',
      key_type: 'EC',
      purpose: 'mdm.webcrt',
    });
    const changed = await client.patch(`${PATH}/${made.id}`, {
      attributes: { purpose: 'mdm.encrypt', subject: 'CN=other' },
    });
    expect(changed.body.data.attributes).toEqual({ ...made.attributes, purpose: 'mdm.encrypt' });
    await client.delete(`${PATH}/${made.id}`).expect(204);
    await client
      .get(`/rsa_private_keys/${made.relationships.rsa_private_key?.data?.id}`)
      .expect(200);
  });

  it('requires the role admin, while all roles read', async () => {
    const attributes = { subject: 'CN=x', purpose: 'mdm.webcrt' };
    const response = await client.post(PATH, attributes).set('X-Role', 'operator');
    expect(faults(response)).toEqual([403, ['forbidden', undefined]]);
    await client.get(PATH).set('X-Role', 'viewer').expect(200);
  });
});

describe('private keys', () => {
  async function storedKey(): Promise<{ id: number; certificate: CertificateResource }> {
    const identity = identityOf(await generateEcKeyPair());
    const certificate = await client.create('/ssl_certificates', {
      pem_certificate: certificatePem(identity.certificate),
      pem_private_key: keyPem(identity),
    });
    return { id: certificate.relationships.rsa_private_key?.data?.id ?? 0, certificate };
  }

  it('are described by their attributes, and never shown', async () => {
    const { id, certificate } = await storedKey();
    const response = await client.get(`/rsa_private_keys/${id}?include=certificates`);
    expect(response.body.data.attributes).toEqual({
      name: 'Signer',
      key_type: 'EC',
      key_size: 256,
      is_ca_key: false,
      fingerprint_sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      created_at: expect.any(String),
    });
    expect(response.body.included).toMatchObject([{ type: 'certificates', id: certificate.id }]);
    expect(response.text).not.toMatch(/PRIVATE KEY|sealed/);
  });

  it('can be renamed, but not created', async () => {
    const { id } = await storedKey();
    const renamed = await client.patch(`/rsa_private_keys/${id}`, {
      attributes: { name: 'push 2026', key_size: 1 },
    });
    expect(renamed.body.data.attributes).toMatchObject({ name: 'push 2026', key_size: 256 });
    const made = await client.post('/rsa_private_keys', { name: 'x' });
    expect([made.status, made.headers.allow]).toEqual([405, 'GET, HEAD, OPTIONS']);
    const operator = { attributes: { name: 'x' } };
    const refusal = await client
      .patch(`/rsa_private_keys/${id}`, operator)
      .set('X-Role', 'operator');
    expect(refusal.status).toBe(403);
  });

  it('cannot be deleted while something uses them', async () => {
    const { id, certificate } = await storedKey();
    const kept = await client.delete(`/rsa_private_keys/${id}`);
    expect(faults(kept)).toEqual([409, ['in_use', undefined]]);
    const path = `/rsa_private_keys/${id}/certificate_signing_requests`;
    const request = await client.create(path, { subject: 'CN=x', purpose: 'mdm.webcrt' });
    await client.delete(`/certificates/${certificate.id}`).expect(204);
    expect((await client.delete(`/rsa_private_keys/${id}`)).status).toBe(409);
    await client.delete(`/certificate_signing_requests/${request.id}`).expect(204);
    await client.delete(`/rsa_private_keys/${id}`).expect(204);
    await client.get(`/rsa_private_keys/${id}`).expect(404);
  });
});
