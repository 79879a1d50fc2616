import { readFileSync } from 'node:fs';
import { failureOf } from './push-cert-fixture.js';
import { ACCOUNT, type PushCertScene, startPushCertScene, TOPIC } from './push-cert-scene.js';

let scene: PushCertScene;

beforeAll(async () => {
  scene = await startPushCertScene();
});
afterEach(() => scene.reset());
afterAll(() => scene.stop());

describe('muster push-cert request', () => {
  it('requires the Apple account of the first certificate', async () => {
    const [name, message] = failureOf(await scene.request({ out: scene.file('none') }));
    expect(name).toBe('UsageError');
    expect(message).toMatch(/^--apple-account is missing: /);
    expect(await scene.count('certificate_signing_requests')).toBe(0);
  });

  it('refuses a vendor key alone, before it opens anything', async () => {
    const before = scene.opened();
    const ran = await scene.request({ appleAccount: ACCOUNT, vendorKey: scene.file('vendor.key') });
    expect(failureOf(ran)).toEqual([
      'UsageError',
      'the vendor certificate is missing: add it by --vendor-cert',
    ]);
    expect(scene.opened()).toBe(before);
  });

  it('changes nothing with a vendor certificate that could not sign', async () => {
    const ran = await scene.request({
      appleAccount: ACCOUNT,
      vendorKey: scene.file('vendor.key'),
      out: scene.file('none'),
      vendorCert: [scene.file('vendor.pem'), scene.file('apple-0.cer')],
    });
    const [code, message] = failureOf(ran);
    expect(code).toBe('no_vendor_certificate');
    expect(message).toMatch(
      /^the vendor certificate can't sign: the certificate of its issuer CN=Apple Root CA,.* is missing: upload .*Nothing was changed$/,
    );
    expect(await scene.count('certificates')).toBe(0);
    expect(await scene.count('certificate_signing_requests')).toBe(0);
    expect(await scene.actions()).toEqual([]);
  });

  it('says what to do with a vendor certificate that was revoked', async () => {
    const given = { appleAccount: ACCOUNT, ...scene.vendorFiles, out: scene.file('signed') };
    expect((await scene.request(given)).error).toBeUndefined();
    await scene.db.knex('certificates').update({ revoked_at: new Date('2026-03-04T05:00:00Z') });
    const { id } = await scene.db.knex('certificates').first('id');
    expect(failureOf(await scene.request(given))).toEqual([
      'already_exists',
      `this certificate is there already: id ${id}, purpose mdm.vendor, and was revoked on ` +
        '2026-03-04, so it is not used. Have another one issued; if it was revoked by mistake, ' +
        `muster api DELETE /certificates/${id} and add it again`,
    ]);
  });

  it.each(['   ', 'ada', 'a b@example.com', '+', '12'])(
    'does not accept %j as an Apple account',
    async (appleAccount) => {
      const [code, message] = failureOf(
        await scene.request({ appleAccount, out: scene.file('x') }),
      );
      expect([code, message]).toEqual([
        'validation_failed',
        'apple_account must be an e-mail address or a phone number',
      ]);
      expect(await scene.count('certificate_signing_requests')).toBe(0);
    },
  );

  it('accepts a phone number as the account', async () => {
    const given = { appleAccount: '+1 (408) 555-0100', out: scene.file('x') };
    expect((await scene.request(given)).error).toBeUndefined();
  });

  it('stores no request that it cannot write', async () => {
    const ran = await scene.request({
      appleAccount: ACCOUNT,
      out: scene.file('no/such/directory'),
    });
    expect(failureOf(ran)[1]).toMatch(/no\/such\/directory cannot be written \(ENOENT/);
    expect(await scene.count('certificate_signing_requests')).toBe(0);
  });

  it('writes the unsigned request without a vendor certificate, and says who must sign it', async () => {
    const out = scene.file('bare.csr');
    const { text, error } = await scene.request({ appleAccount: ACCOUNT, out });
    expect(error).toBeUndefined();
    expect(readFileSync(out, 'utf8')).toMatch(/^-----BEGIN CERTIFICATE REQUEST-----\n/);
    const { id } = await scene.db.knex('certificate_signing_requests').first();
    expect(text).toContain(
      `Request ${id} made. Its private key stays here, sealed.\nWritten: ${out}`,
    );
    expect(text).toContain('No vendor certificate is stored here.');
    expect(text).toContain(`1. Have ${out} signed by someone who has a vendor certificate`);
    expect(text).toContain(`with the Apple Account ${ACCOUNT}.`);
    expect(text).toContain(
      '4. Download the certificate and run: muster push-cert import --cert FILE',
    );
  });

  it('signs with the vendor certificate of the options, and stores it for the next time', async () => {
    const out = scene.file('signed');
    const { text, error } = await scene.request({
      appleAccount: ACCOUNT,
      ...scene.vendorFiles,
      out,
    });
    expect(error).toBeUndefined();
    expect(scene.portal.submit(readFileSync(out), TOPIC)).toContain('BEGIN CERTIFICATE');
    expect(text).toContain(`Choose "Create a Certificate" and upload ${out}.`);
    const row = await scene.db.knex('certificate_signing_requests').first();
    expect(row).toMatchObject({
      purpose: 'mdm.pushcert',
      apple_account: ACCOUNT,
      subject: 'CN=MDM push mdm.example.com',
    });
    expect(
      await scene.db.knex('rsa_private_keys').where({ id: row.rsa_private_key_id }).first(),
    ).toMatchObject({ key_type: 'RSA', key_size: 2048 });
    expect(await scene.actions()).toEqual([
      'certificates.create',
      'certificate_signing_requests.create',
    ]);
    const again = await scene.request({ appleAccount: ACCOUNT, out: '-' });
    expect(again.error).toBeUndefined();
    expect(scene.portal.submit(again.bytes, TOPIC)).toContain('BEGIN CERTIFICATE');
    expect(again.text).not.toContain('Written');
    expect(again.text).toContain('upload the output.');
  });

  it('repeats the whole with the same vendor files and stores them once', async () => {
    const options = { appleAccount: ACCOUNT, ...scene.vendorFiles, out: scene.file('signed') };
    expect((await scene.request(options)).error).toBeUndefined();
    expect((await scene.request(options)).error).toBeUndefined();
    expect(await scene.db.knex('certificates').where({ purpose: 'mdm.vendor' })).toHaveLength(1);
  });

  it('reminds of the account and the topic when it is for a renewal', async () => {
    await scene.imported();
    const { text, error } = await scene.request({ out: scene.file('renewal') });
    expect(error).toBeUndefined();
    expect(text).toContain(
      `Sign in at https://identity.apple.com/pushcert with the Apple Account ${ACCOUNT}.`,
    );
    expect(text).toContain(
      `Choose "Renew" beside the certificate whose subject has the UID ${TOPIC},`,
    );
    expect(text).toContain('The topic must stay');
    expect(text).not.toContain('Warning');
    const other = await scene.request({
      appleAccount: 'else@example.com',
      out: scene.file('other'),
    });
    expect(other.text).toContain(
      `Warning: the push certificate of ${TOPIC} was made with the Apple Account ${ACCOUNT}. No other`,
    );
  });
});
