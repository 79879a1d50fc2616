import { writeFileSync } from 'node:fs';
import { certificatePem, keyPem } from '../../resources/certificate-samples.js';
import {
  ACCOUNT,
  OTHER_TOPIC,
  type PushCertScene,
  startPushCertScene,
  strayPushIdentity,
  TOPIC,
} from './push-cert-scene.js';

let scene: PushCertScene;

beforeAll(async () => {
  scene = await startPushCertScene();
});
afterEach(() => scene.reset());
afterAll(() => scene.stop());

describe('muster push-cert status', () => {
  it('shows the first steps before there is a certificate', async () => {
    const { lines } = await scene.status();
    expect(lines).toEqual([
      'No vendor certificate: requests have to be signed elsewhere',
      '',
      'Next:',
      '- muster push-cert request --apple-account you@example.com, which makes the file for ' +
        'https://identity.apple.com/pushcert;',
      '- or, with the push certificate of another server: muster push-cert import --cert FILE --key ' +
        'FILE (or --p12 FILE).',
    ]);
  });

  it('shows each topic, its devices, its Apple account, and the pending request', async () => {
    await scene.imported();
    await scene.enroll(TOPIC, 3);
    await scene.enroll(OTHER_TOPIC);
    await scene.request({ out: scene.file('renewal') });
    const { lines } = await scene.status();
    const push = await scene.db.knex('certificates').where({ purpose: 'mdm.pushcert' }).first();
    const own = await scene.db.knex('certificates').where({ purpose: 'mdm.vendor' }).first();
    const request = await scene.db
      .knex('certificate_signing_requests')
      .orderBy('id', 'desc')
      .first();
    expect(lines).toEqual([
      expect.stringMatching(
        new RegExp(
          `^Push certificate ${push.id}: good until \\d{4}-\\d\\d-\\d\\d \\(36[45] days\\)$`,
        ),
      ),
      `  topic: ${TOPIC}, 3 enrolled devices`,
      `  Apple Account: ${ACCOUNT}`,
      `No push certificate for ${OTHER_TOPIC}, 1 enrolled device`,
      expect.stringMatching(
        new RegExp(
          `^Request ${request.id} of [\\d-]{10} waits for its certificate, Apple Account ${ACCOUNT}$`,
        ),
      ),
      expect.stringMatching(
        new RegExp(`^Vendor certificate ${own.id} \\(MDM Vendor: .*\\): until [\\d-]{10}$`),
      ),
      '',
      'Next:',
      `1. Upload the file of request ${request.id} at https://identity.apple.com/pushcert as ${ACCOUNT}. ` +
        'Where it is lost, make another by muster push-cert request.',
      '2. Download the certificate and run: muster push-cert import --cert FILE',
    ]);
  });

  it('asks for a signature elsewhere when there is no vendor certificate', async () => {
    await scene.request({ appleAccount: ACCOUNT, out: scene.file('bare.csr') });
    const { lines } = await scene.status();
    expect(lines.slice(-3)).toEqual([
      'Next:',
      expect.stringMatching(
        /^1\. Upload the file of request \d+, once an MDM vendor has signed it, at https:/,
      ),
      '2. Download the certificate and run: muster push-cert import --cert FILE',
    ]);
  });

  it('leaves out a request that a newer one replaced', async () => {
    const waiting = async () =>
      (await scene.status()).lines.filter((line) => line.endsWith(`Apple Account ${ACCOUNT}`));
    await scene.imported();
    await scene.db.knex('certificates').where({ purpose: 'mdm.pushcert' }).delete();
    expect(await waiting()).toEqual([expect.stringMatching(/^Request \d+ of .* waits for/)]);
    await scene.imported();
    expect(await waiting()).toEqual([expect.not.stringContaining('Request')]);
    const other = { apple_account: 'other@example.com' };
    await scene.db.knex('certificates').where({ purpose: 'mdm.pushcert' }).update(other);
    expect(await waiting()).toEqual([expect.stringMatching(/^Request \d+ of .* waits for/)]);
    const { lines } = await scene.status();
    expect(lines.at(-1)).toMatch(/push-cert import --cert FILE$/);
  });

  it('asks for nothing with a valid certificate and no request', async () => {
    await scene.imported();
    expect((await scene.status()).lines.at(-1)).toBe(
      'Nothing to do: a push certificate is renewed once it has 30 days left.',
    );
  });

  it.each([
    [20, /^Push certificate \d+: good until [\d-]{10} \(\d+ days\)$/],
    [-2, /^Push certificate \d+: expired on [\d-]{10}$/],
  ])('shows how to renew one with %i days left', async (days, state) => {
    const identity = await strayPushIdentity(days);
    writeFileSync(scene.file('old.pem'), certificatePem(identity.certificate) + keyPem(identity));
    const given = { cert: [scene.file('old.pem')], appleAccount: ACCOUNT, force: true };
    expect((await scene.import(given)).error).toBeUndefined();
    const { lines } = await scene.status();
    expect(lines[0]).toMatch(state);
    expect(lines.slice(-4)).toEqual([
      'Next:',
      '1. muster push-cert request',
      `2. Renew it at https://identity.apple.com/pushcert as ${ACCOUNT}, with the file that this writes.`,
      '3. Download the certificate and run: muster push-cert import --cert FILE',
    ]);
  });

  it('shows the fault of a vendor certificate', async () => {
    await scene.request({ appleAccount: ACCOUNT, ...scene.vendorFiles, out: scene.file('x') });
    await scene.db.knex('certificates').update({ chain_der: null });
    const { text } = await scene.status();
    expect(text).toMatch(
      /Vendor certificate \d+ \(.*\): can't sign: the certificate of its issuer /,
    );
  });
});
