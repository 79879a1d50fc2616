import { decodePemBlock } from '../../src/crypto/asn1/pem.js';
import { generateEcKeyPair, type KeyPair } from '../../src/crypto/keys/keys.js';
import { buildCsr, parseCsr } from '../../src/crypto/x509/csr.js';
import { identityOf } from '../crypto/identities.js';
import { nextKeys } from '../helpers/prepared-keys.js';
import { createTestApi, type TestApi } from '../jsonapi/test-api.js';
import {
  type CertificateResource,
  certificatePem,
  credentialClient,
  faults,
  makeAuthority,
} from './certificate-samples.js';

const PATH = '/certificate_signing_requests';
const REQUEST = '/data/relationships/certificate_signing_request/data';

let api: TestApi;
let client: ReturnType<typeof credentialClient>;
let authority: Awaited<ReturnType<typeof makeAuthority>>;
beforeAll(async () => {
  api = await createTestApi();
  client = credentialClient(api);
  authority = await makeAuthority();
});
afterAll(() => api.close());

const requestFor = (purpose: string, extra: object = {}) =>
  client.create(PATH, { subject: 'CN=mdm.example.com', key_type: 'EC', purpose, ...extra });

function keyOf({ attributes }: CertificateResource) {
  return parseCsr(decodePemBlock(String(attributes.pem_request), 'CERTIFICATE REQUEST')).publicKey;
}

/** What a CA makes of the request. */
function issued(made: CertificateResource, subject = [{ type: 'CN', value: 'mdm.example.com' }]) {
  const keys = { publicKey: keyOf(made), privateKey: authority.privateKey };
  const { certificate } = identityOf(keys, { subject, issuedBy: authority });
  return certificatePem(certificate);
}

async function refused(path: string, attributes: Record<string, unknown>) {
  const before = await api.knex('certificates').count();
  const response = await client.post(path, attributes);
  expect(await api.knex('certificates').count()).toEqual(before);
  return faults(response);
}

describe('the certificate that comes back for a request', () => {
  it('is linked to it and to its key', async () => {
    const made = await requestFor('mdm.webcrt');
    const answer = await client.create('/ssl_certificates', { pem_certificate: issued(made) });
    const { rsa_private_key, certificate_signing_request } = answer.relationships;
    expect(rsa_private_key?.data).toEqual(made.relationships.rsa_private_key?.data);
    expect(certificate_signing_request?.data).toEqual({
      type: 'certificate_signing_requests',
      id: made.id,
    });
    const listed = await client.get(`${PATH}/${made.id}/certificates`);
    expect(listed.body.data.map(({ id }: { id: number }) => id)).toEqual([answer.id]);
    const included = await client.get(`${PATH}/${made.id}?include=certificates`);
    expect(included.body.included).toMatchObject([{ type: 'certificates', id: answer.id }]);
    await client.delete(`${PATH}/${made.id}`).expect(204);
    const { body } = await client.get(`/certificates/${answer.id}`);
    expect(body.data[0].relationships.certificate_signing_request.data).toBeNull();
    expect(body.data[0].relationships.rsa_private_key.data).toEqual(rsa_private_key?.data);
  });

  it('is linked to a request made elsewhere, without a key', async () => {
    const keys = await generateEcKeyPair();
    const made = await uploadRequest(keys, 'mdm.webcrt');
    const answer = await client.create('/ssl_certificates', { pem_certificate: issued(made) });
    expect(answer.relationships.certificate_signing_request?.data?.id).toBe(made.id);
    expect(answer.relationships.rsa_private_key?.data).toBeNull();
  });

  it('is refused for another purpose than was requested', async () => {
    const made = await requestFor('mdm.webcrt');
    const pem_certificate = issued(made);
    const fault = [422, ['validation_failed', '/data/attributes/purpose']];
    expect(await refused('/certificates', { pem_certificate, purpose: 'mdm.encrypt' })).toEqual(
      fault,
    );
    const forced = '/certificates?force=true';
    expect(await refused(forced, { pem_certificate, purpose: 'mdm.encrypt' })).toEqual(fault);
  });

  it('finds the one for its purpose among those of one key', async () => {
    const first = await requestFor('mdm.webcrt');
    const key = first.relationships.rsa_private_key?.data;
    const path = `/rsa_private_keys/${key?.id}${PATH}`;
    await client.create(path, { subject: 'CN=x', purpose: 'mdm.encrypt' });
    const answer = await client.create('/ssl_certificates', { pem_certificate: issued(first) });
    expect(answer.relationships.certificate_signing_request?.data?.id).toBe(first.id);
  });

  it('is created below its request, and below no other', async () => {
    const [made, other] = [await requestFor('mdm.webcrt'), await requestFor('mdm.webcrt')];
    const attributes = { pem_certificate: issued(made), purpose: 'mdm.webcrt' };
    const wrong = await refused(`${PATH}/${other.id}/certificates`, attributes);
    expect(wrong).toEqual([422, ['key_mismatch', REQUEST]]);
    const answer = await client.create(`${PATH}/${made.id}/certificates`, attributes);
    expect(answer.relationships.certificate_signing_request?.data?.id).toBe(made.id);
  });

  it('brings the Apple account of a request for a push certificate', async () => {
    const keys = await nextKeys();
    const apple_account = 'it@example.com';
    const made = await uploadRequest(keys, 'mdm.pushcert', { apple_account });
    expect(made.attributes.apple_account).toBe(apple_account);
    const subject = [{ type: 'UID', value: 'com.apple.mgmt.External.requested' }];
    const pem_certificate = issued(made, subject);
    const answer = await client.create('/push_certificates', { pem_certificate });
    expect(answer.attributes.apple_account).toBe(apple_account);
  });

  it('may be set later, for a certificate that lacked it', async () => {
    const made = await requestFor('mdm.webcrt');
    const pem_certificate = issued(made);
    const answer = await client.create('/ssl_certificates', { pem_certificate });
    await api
      .knex('certificates')
      .where({ id: answer.id })
      .update({ rsa_private_key_id: null, signing_request_id: null });
    const again = await client.create('/ssl_certificates', { pem_certificate });
    expect([again.id, again.relationships.certificate_signing_request?.data?.id]).toEqual([
      answer.id,
      made.id,
    ]);
  });

  async function uploadRequest(keys: KeyPair, purpose: string, extra: object = {}) {
    const der = buildCsr({ subject: [{ type: 'CN', value: 'elsewhere' }], ...keys });
    return client.create(PATH, { pem_request: der.toString('base64'), purpose, ...extra });
  }
});
