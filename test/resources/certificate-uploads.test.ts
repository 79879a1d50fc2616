import { encodePem } from '../../src/crypto/asn1/pem.js';
import { buildCertsOnly, buildSignedData } from '../../src/crypto/cms/cms-signed-data.js';
import { generateRsaKeyPair } from '../../src/crypto/keys/keys.js';
import { asAuthority, type Identity, identityOf } from '../crypto/identities.js';
import { nextKeys } from '../helpers/prepared-keys.js';
import { createTestApi, type TestApi } from '../jsonapi/test-api.js';
import {
  certificatePem,
  credentialClient,
  faults,
  type Json,
  keyPem,
  makeAuthority,
  makeIdentity,
} from './certificate-samples.js';

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

async function refused(attributes: Json, path = '/certificates') {
  const before = await api.knex('certificates').count();
  const response = await client.post(path, attributes);
  expect(await api.knex('certificates').count()).toEqual(before);
  return faults(response);
}

const nameOf = ({ certificate: { commonName = '' } }: Identity) => [
  { type: 'CN' as const, value: commonName },
];

describe('an uploaded certificate', () => {
  it('that is not valid now is accepted with force, but not with other faults', async () => {
    const identity = await makeIdentity({
      notBefore: new Date(Date.now() - 2 * DAY),
      notAfter: new Date(Date.now() - DAY),
    });
    const pem_certificate = certificatePem(identity.certificate);
    const wrong = { pem_certificate, pem_private_key: keyPem(await makeIdentity()) };
    const forced = '/ssl_certificates?force=true';
    expect(await refused(wrong, forced)).toEqual([422, ['key_mismatch', KEY]]);
    const small = identityOf(await generateRsaKeyPair(1024)).certificate;
    const unfit = [422, ['validation_failed', CERTIFICATE]];
    expect(await refused({ pem_certificate: certificatePem(small) }, forced)).toEqual(unfit);
    expect(await refused({ pem_certificate }, '/ca_certificates?force=true')).toEqual(unfit);
    const expired = [422, ['certificate_not_valid', CERTIFICATE]];
    expect(await refused({ pem_certificate }, '/ssl_certificates?force=false')).toEqual(expired);
    const { id } = await client.create(forced, { pem_certificate });
    expect((await rowOf(id)).not_after).toEqual(identity.certificate.notAfter);
    for (const role of ['viewer', 'operator']) {
      const response = await client.post(forced, { pem_certificate }).set('X-Role', role);
      expect(faults(response)).toEqual([403, ['forbidden', undefined]]);
    }
  });

  it('of an MDM vendor has an RSA key and is no CA', async () => {
    const keys = await nextKeys();
    const authority = identityOf(keys, { isCa: true, keyUsage: ['keyCertSign'] });
    const vendor = identityOf(keys);
    const attributes = ({ certificate }: typeof vendor) => ({
      purpose: 'mdm.vendor',
      pem_certificate: certificatePem(certificate),
    });
    const unfit = [422, ['validation_failed', CERTIFICATE]];
    expect(await refused(attributes(authority))).toEqual(unfit);
    expect(await refused(attributes(await makeIdentity()))).toEqual(unfit);
    await client.create('/certificates', {
      ...attributes(vendor),
      pem_private_key: keyPem(vendor),
    });
  });

  it('may come in PKCS #7 of certificates only, and in no other message', async () => {
    const root = await makeAuthority({ pathLength: 1 });
    const leaf = await makeIdentity({ issuedBy: root });
    const der = buildCertsOnly([root.certificate, leaf.certificate]);
    const unreadable = [422, ['invalid_certificate', CERTIFICATE]];
    const message = buildSignedData({ content: Buffer.from('x'), signer: leaf });
    for (const wrong of [message, buildCertsOnly([]), der.subarray(0, 300)]) {
      for (const pem_certificate of [encodePem('PKCS7', wrong), wrong.toString('base64')]) {
        expect(await refused({ pem_certificate }, '/ssl_certificates')).toEqual(unreadable);
      }
    }
    const labelled = encodePem('CERTIFICATE', der);
    expect(await refused({ pem_certificate: labelled }, '/ssl_certificates')).toEqual(unreadable);
    for (const pem_certificate of [encodePem('PKCS7', der), der.toString('base64')]) {
      const { id, attributes } = await client.create('/ssl_certificates', { pem_certificate });
      expect(attributes.subject).toBe(leaf.certificate.subject);
      expect((await rowOf(id)).chain_der).toEqual(root.certificate.der);
      await client.delete(`/certificates/${id}`).expect(204);
    }
  });

  it('is accepted only with its own chain, in any order and with repeated CAs', async () => {
    const root = await makeAuthority({ pathLength: 2 });
    const between = await makeAuthority({ issuedBy: root, pathLength: 1 });
    const leaf = await makeIdentity({ issuedBy: between });
    const [outsider, own] = [await makeAuthority(), keyPem(leaf)];
    const pem = (...all: { certificate: { der: Buffer } }[]) =>
      all.map(({ certificate }) => certificatePem(certificate)).join('');
    const upload = { pem_certificate: pem(leaf, root, outsider, between), pem_private_key: own };
    const response = await client.post('/ssl_certificates', upload);
    expect(faults(response)).toEqual([422, ['validation_failed', CERTIFICATE]]);
    expect(response.body.errors[0].detail).toBe(
      'beside the certificate and the CAs of its chain there is ' +
        `${outsider.certificate.subject}: leave out what is not part of the chain`,
    );
    const gap = { pem_certificate: pem(leaf, root), pem_private_key: own };
    const { body } = await client.post('/ssl_certificates', gap);
    expect(body.errors[0].detail).toBe(
      'beside the certificate and the CAs of its chain there is ' +
        `${root.certificate.subject}: leave out what is not part of the chain, or add the ` +
        `certificate of ${between.certificate.subject}, which is missing in between`,
    );
    const unclear = { pem_certificate: pem(leaf, outsider) };
    expect(await refused(unclear, '/ssl_certificates')).toEqual([
      422,
      ['validation_failed', CERTIFICATE],
    ]);
    const pem_certificate = pem(root, between, leaf, between, leaf);
    const { id } = await client.create('/ssl_certificates', { pem_certificate });
    const ders = [between, root].map(({ certificate }) => certificate.der);
    expect((await rowOf(id)).chain_der).toEqual(Buffer.concat(ders));
  });

  it('may come with several certificates of one CA, as when CAs sign each other', async () => {
    const old = await makeAuthority({ pathLength: 2 });
    const root = await makeAuthority({ pathLength: 1 });
    const crossed = identityOf(root, {
      ...asAuthority,
      subject: nameOf(root),
      pathLength: 1,
      issuedBy: old,
    });
    const leaf = await makeIdentity({ issuedBy: root });
    const all = [old, root, crossed, leaf].map(({ certificate }) => certificatePem(certificate));
    for (const certificates of [all, all.toReversed()]) {
      const pem_certificate = certificates.join('');
      const { id } = await client.create('/ssl_certificates', { pem_certificate });
      const { length } = Buffer.concat(
        [old, root, crossed].map(({ certificate }) => certificate.der),
      );
      expect((await rowOf(id)).chain_der).toHaveLength(length);
      await client.delete(`/certificates/${id}`).expect(204);
    }
  });

  it('shows all its fields and those of its chain', async () => {
    const root = await makeAuthority({ pathLength: 1 });
    const leaf = await makeIdentity({
      issuedBy: root,
      extendedKeyUsage: ['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2', '1.2.3.4'],
      keyUsage: ['digitalSignature'],
      subjectAltName: [
        { type: 'dns', value: '*.example.com' },
        { type: 'ip', value: '192.0.2.1' },
        { type: 'ip', value: '2001:db8:0:0:0:0:0:1' },
        { type: 'email', value: 'me@example.com' },
        { type: 'uri', value: 'https://example.com/x' },
        { type: 'upn', value: 'me@EXAMPLE.COM' },
      ],
    });
    const pem_certificate = certificatePem(root.certificate) + certificatePem(leaf.certificate);
    const { id, attributes } = await client.create('/ssl_certificates', { pem_certificate });
    const chain = [
      {
        subject: root.certificate.subject,
        not_after: `${root.certificate.notAfter.toISOString().slice(0, 19)}+00:00`,
        fingerprint_sha256: root.certificate.fingerprint.toString('hex'),
      },
    ];
    expect(attributes).toMatchObject({
      subject_alt_names: [
        ...['DNS:*.example.com', 'IP:192.0.2.1', 'IP:2001:db8::1', 'email:me@example.com'],
        ...['URI:https://example.com/x', 'UPN:me@EXAMPLE.COM'],
      ],
      key_usage: ['digitalSignature'],
      extended_key_usage: ['serverAuth', 'clientAuth', '1.2.3.4'],
      chain,
    });
    const listed = await client.get('/ssl_certificates?sort=-id&page[size]=1');
    expect(listed.body.data[0].attributes.key_usage).toEqual(['digitalSignature']);
    expect(Object.keys(listed.body.data[0].attributes)).not.toContain('chain');
    const selected = await client.get('/ssl_certificates?sort=-id&fields[certificates]=chain');
    expect(selected.body.data[0].attributes).toEqual({ chain });
    await api
      .knex('certificates')
      .where({ id })
      .update({ der: Buffer.alloc(3) });
    const { body } = await client.get(`/certificates/${id}`);
    expect(body.data[0].attributes).toMatchObject({ key_type: null, subject_alt_names: null });
    await client.delete(`/certificates/${id}`).expect(204);
  });
});
