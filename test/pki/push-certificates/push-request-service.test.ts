import { CommandQueue } from '../../../src/commands/queue.js';
import { SecretBox } from '../../../src/crypto/secrets/secret-box.js';
import type { ParsedCertificate } from '../../../src/crypto/x509/certificate.js';
import { inTransaction } from '../../../src/db/connection/unit-of-work.js';
import { AppError } from '../../../src/errors.js';
import {
  NoVendorCertificate,
  PushCertificateRequests,
} from '../../../src/pki/push-certificates/push-request-service.js';
import { storeVendorCertificate } from '../../../src/pki/push-certificates/push-request-vendor.js';
import type { SigningRequestInput } from '../../../src/pki/signing-requests/signing-request-service.js';
import { createResourceServices } from '../../../src/server/resource-services.js';
import { asAuthority, ecIdentity, identityOf } from '../../crypto/identities.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import { certificatePem, keyPem } from '../../resources/certificate-samples.js';
import { makeVendor, PushPortal, type Vendor } from './push-portal.js';

const DAY = 86_400_000;
const TOPIC = 'com.apple.mgmt.External.11111111-2222-4333-8444-555555555555';

let test: TestDatabase;
let box: SecretBox;
let services: ReturnType<typeof createResourceServices>;
let vendor: Vendor;
let requestId: number;

beforeAll(async () => {
  test = await createTestDatabase();
  box = new SecretBox(Buffer.alloc(32, 3));
  const queue = new CommandQueue(box);
  services = createResourceServices({ box, queue, publicUrl: 'https://mdm.example.com' });
  vendor = await makeVendor();
  requestId = await addRequest();
});
afterEach(() => test.db.knex('certificates').delete());
afterAll(() => test.drop());

const days = (count: number) => new Date(Date.now() + count * DAY);

function addRequest(overrides: Partial<SigningRequestInput> = {}): Promise<number> {
  const input = { purpose: 'mdm.pushcert', subject: 'CN=push', ...overrides } as const;
  return inTransaction(test.db, (trx) => services.signingRequests.add(trx, input));
}

const pemOf = (certificates: ParsedCertificate[]) => certificates.map(certificatePem).join('');

interface Given {
  of?: Vendor;
  chain?: ParsedCertificate[];
  hasKey?: boolean;
}

function keep({ of = vendor, chain = of.chain, hasKey = true }: Given = {}): Promise<number> {
  const upload = {
    pem_certificate: pemOf([of.leaf.certificate, ...chain]),
    pem_private_key: hasKey ? keyPem(of.leaf) : undefined,
  };
  return inTransaction(test.db, async (trx) => {
    const kept = await storeVendorCertificate(trx, services.certificates, upload);
    return kept.id;
  });
}

function file(id = requestId, now = new Date()) {
  const requests = new PushCertificateRequests({ box, now: () => now });
  return inTransaction(test.db, (trx) => requests.file(trx, id));
}

/** The error that it fails with. */
async function failure(...given: Parameters<typeof file>): Promise<AppError> {
  const error = await file(...given).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof AppError) return error;
  throw new Error(`no AppError but ${String(error)}`);
}

async function reason(...given: Parameters<typeof file>): Promise<string> {
  const error = await failure(...given);
  if (!(error instanceof NoVendorCertificate)) throw error;
  expect([error.code, error.status]).toEqual(['no_vendor_certificate', 409]);
  return error.reason;
}

describe('a request for a push certificate is not signed', () => {
  it('when it does not exist, or has another purpose', async () => {
    await keep();
    expect(await failure(999_999)).toMatchObject({ code: 'not_found', status: 404 });
    const other = await addRequest({ purpose: 'mdm.webcrt', subject: 'CN=www.example.com' });
    expect(await failure(other)).toMatchObject({
      code: 'conflict',
      status: 409,
      message: `certificate_signing_requests ${other} has the purpose mdm.webcrt, not mdm.pushcert`,
    });
  });

  it('with a key that Apple refuses', async () => {
    await keep();
    const other = await addRequest({ purpose: 'mdm.webcrt', key_type: 'EC' });
    await test.db
      .knex('certificate_signing_requests')
      .where({ id: other })
      .update({ purpose: 'mdm.pushcert' });
    expect(await failure(other)).toMatchObject({
      code: 'conflict',
      message:
        `certificate_signing_requests ${other}: its key is EC, and Apple requires RSA of 2048 bits ` +
        'for push certificates',
    });
  });

  it('without a vendor certificate, and the error lists three remedies', async () => {
    const { message } = await failure();
    expect(message).toMatch(
      /^No vendor certificate is stored here\. There are three ways out: \(1\)/,
    );
    expect(message).toContain('/api/v1/certificates with the purpose mdm.vendor; (2)');
    expect(message).toContain(`/api/v1/certificate_signing_requests/${requestId}; or (3) POST`);
    expect(message).toContain('to /api/v1/push_certificates.');
  });

  const because = (id: number, fault: string | RegExp) =>
    expect.stringMatching(
      new RegExp(
        `^The vendor certificate "MDM Vendor: Example \\w+" \\(id ${id}\\) can't sign: ${fault}`,
      ),
    );

  it('without the private key of the vendor certificate', async () => {
    const id = await keep({ of: await makeVendor(), hasKey: false });
    expect(await reason()).toEqual(because(id, 'its private key is not stored here$'));
  });

  it('with a vendor certificate that is revoked', async () => {
    const id = await keep();
    await test.db.knex('certificates').where({ id }).update({ revoked_at: new Date() });
    expect(await reason()).toBe('No vendor certificate is stored here');
  });

  it('with a vendor certificate that is not valid now', async () => {
    const id = await keep();
    expect(await reason(requestId, days(40))).toEqual(because(id, 'it expired on \\d{4}-'));
    expect(await reason(requestId, days(-40))).toEqual(
      because(id, 'it is not valid before \\d{4}-'),
    );
  });

  it('with one that Apple did not issue', async () => {
    const { leaf } = vendor;
    const self = identityOf(leaf, { subject: [{ type: 'CN', value: 'MDM Vendor: Example Self' }] });
    const id = await keep({ of: { ...vendor, leaf: self }, chain: [] });
    expect(await reason()).toEqual(because(id, 'it is signed by itself, not issued by Apple$'));
  });

  it('with one whose key is not RSA', async () => {
    const leaf = await ecIdentity('P-256', {
      subject: [{ type: 'CN', value: 'MDM Vendor: Example EC' }],
      issuedBy: vendor.intermediate,
    });
    const input = {
      purpose: 'mdm.encrypt',
      pem_certificate: pemOf([leaf.certificate, ...vendor.chain]),
      pem_private_key: keyPem(leaf),
    } as const;
    const id = await inTransaction(test.db, (trx) => services.certificates.add(trx, input));
    await test.db.knex('certificates').where({ id }).update({ purpose: 'mdm.vendor' });
    expect(await reason()).toEqual(because(id, 'its key is not RSA$'));
  });

  it.each([
    ['issuer', () => [], 'CN=Apple Worldwide Developer Relations,'],
    ['root', () => vendor.chain.slice(0, 1), 'CN=Apple Root CA,'],
    ['issuer but not the root', () => vendor.chain.slice(1), 'CN=Apple Worldwide Developer Rel'],
  ])('without the certificate of its %s', async (_what, chain, name) => {
    const id = await keep();
    const chain_der = Buffer.concat(chain().map(({ der }) => der));
    await test.db.knex('certificates').where({ id }).update({ chain_der });
    expect(await reason()).toEqual(
      because(id, `the certificate of its issuer ${name}.* is missing: upload the vendor`),
    );
  });

  it('with the expired certificate of its issuer', async () => {
    const over = await makeVendor({ intermediate: { notBefore: days(-9), notAfter: days(-2) } });
    const id = await keep({ of: over });
    expect(await reason()).toEqual(
      because(id, 'the certificate of its issuer CN=Apple World.* expired on \\d{4}-.*: upload'),
    );
  });
});

describe('a request for a push certificate is signed', () => {
  it('as the portal expects, whatever the order of the stored certificates', async () => {
    const shuffled = [...vendor.chain].reverse();
    await keep({ chain: shuffled });
    const { name, mediaType, bytes } = await file();
    expect([name, mediaType]).toEqual(['push-certificate-request.plist', 'text/plain']);
    const portal = await PushPortal.open(vendor);
    expect(portal.submit(bytes, TOPIC)).toMatch(/^-----BEGIN CERTIFICATE-----\n/);
  });

  it('by the newest vendor certificate that can', async () => {
    await keep();
    await keep({ of: await makeVendor(), chain: [] });
    await keep({ of: await makeVendor(), hasKey: false });
    const portal = await PushPortal.open(vendor);
    expect(portal.submit((await file()).bytes, TOPIC)).toContain('BEGIN CERTIFICATE');
    const newer = await makeVendor();
    await keep({ of: newer });
    const { bytes } = await file();
    expect(() => portal.submit(bytes, TOPIC)).toThrow('no known root');
    expect((await PushPortal.open(newer)).submit(bytes, TOPIC)).toContain('BEGIN CERTIFICATE');
  });

  it('once the same vendor certificate is uploaded again with the missing certificates', async () => {
    const id = await keep({ chain: vendor.chain.slice(0, 1) });
    expect(await keep({ hasKey: false })).toBe(id);
    expect((await file()).bytes.length).toBeGreaterThan(2_000);
    await expect(keep({ chain: [] })).rejects.toMatchObject({ code: 'already_exists' });
  });

  it('with the intermediate that is valid, of two with the same name and key', async () => {
    const { root, intermediate } = vendor;
    const { subjectRaw: subject } = intermediate.certificate;
    const time = { notBefore: days(-9), notAfter: days(-2) };
    const former = identityOf(intermediate, { ...asAuthority, subject, ...time, issuedBy: root });
    await keep({ chain: [former.certificate, ...vendor.chain] });
    const portal = await PushPortal.open(vendor);
    expect(portal.submit((await file()).bytes, TOPIC)).toContain('BEGIN CERTIFICATE');
  });
});
