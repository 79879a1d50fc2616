import { writeFileSync } from 'node:fs';
import { certificatePem, keyPem } from '../../resources/certificate-samples.js';
import { failureOf } from './push-cert-fixture.js';
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

describe('muster push-cert import', () => {
  it('requires one of --cert and --p12, and a certificate in it', async () => {
    const usage = ['UsageError', 'use either --cert or --p12'];
    expect(failureOf(await scene.import())).toEqual(usage);
    const both = { cert: [scene.file('vendor.pem')], p12: scene.file('x.p12') };
    expect(failureOf(await scene.import(both))).toEqual(usage);
    const file = scene.file('vendor.key');
    expect(failureOf(await scene.import({ cert: [file] }))).toEqual([
      'bad_request',
      `${file}: it contains no certificate`,
    ]);
    const [code, message] = failureOf(await scene.import({ cert: [scene.file('missing.pem')] }));
    expect([code, message]).toEqual([
      'bad_request',
      expect.stringMatching(/missing\.pem cannot be read \(ENOENT/),
    ]);
  });

  it('refuses a certificate whose key is not here', async () => {
    const { certificate } = await strayPushIdentity();
    writeFileSync(scene.file('stray.pem'), certificatePem(certificate));
    const [code, message] = failureOf(await scene.import({ cert: [scene.file('stray.pem')] }));
    expect(code).toBe('key_mismatch');
    expect(message).toMatch(/^the private key of this certificate is not here, .*--key/);
    expect(await scene.count('certificates')).toBe(0);
  });

  it('refuses a key that is not its own, and a certificate that is no push certificate', async () => {
    const identity = await strayPushIdentity();
    writeFileSync(scene.file('stray.pem'), certificatePem(identity.certificate));
    const cert = [scene.file('stray.pem')];
    const wrong = await scene.import({ cert, key: scene.file('vendor.key') });
    expect(failureOf(wrong)[0]).toBe('key_mismatch');
    const other = await scene.import({
      cert: [scene.file('vendor.pem')],
      key: scene.file('vendor.key'),
    });
    expect(failureOf(other)[1]).toContain('it is no push certificate of Apple');
    expect(await scene.count('certificates')).toBe(0);
  });

  it('finds the key of the request, and prints the date of the renewal', async () => {
    const { text } = await scene.imported();
    const row = await scene.db.knex('certificates').where({ purpose: 'mdm.pushcert' }).first();
    expect(row).toMatchObject({ push_topic: TOPIC, apple_account: ACCOUNT });
    const [request] = await scene.db.knex('certificate_signing_requests');
    expect(row.signing_request_id).toBe(request.id);
    expect(row.rsa_private_key_id).toBe(request.rsa_private_key_id);
    expect(text).toContain(`Push certificate ${row.id} is in use, without a restart.`);
    expect(text).toContain(`Topic: ${TOPIC}\n`);
    expect(text).toContain(`Apple Account: ${ACCOUNT}\n`);
    expect(text).toMatch(/Next: renew it from \d{4}-\d\d-\d\d on by muster push-cert request;/);
    const jobs = await scene.db.knex('jobs').where({ task: 'push.rearm' }).pluck('key');
    expect(jobs).toEqual([`push.rearm:${TOPIC}`]);
    expect((await scene.actions()).at(-1)).toBe('certificates.create');
  });

  it('imports one of another server with its key, and asks for its account', async () => {
    const identity = await strayPushIdentity();
    writeFileSync(scene.file('both.pem'), certificatePem(identity.certificate) + keyPem(identity));
    const { text, error } = await scene.import({ cert: [scene.file('both.pem')] });
    expect(error).toBeUndefined();
    expect(text).toMatch(
      /\nWarning: The push certificate in use for \S+ \(id \d+\) is signed by itself, .*and import it by muster push-cert import\.\n/,
    );
    expect(text).toContain('Apple Account: not known');
    expect(text).toMatch(/muster api PATCH \/certificates\/\d+ -f apple_account=/);
    const again = await scene.import({ cert: [scene.file('both.pem')] });
    const { id } = await scene.db.knex('certificates').first('id');
    const there = `this certificate is there already: id ${id}, purpose mdm.pushcert`;
    expect(failureOf(again)).toEqual(['already_exists', there]);
    await scene.db.knex('certificates').update({ revoked_at: new Date('2026-03-04T05:00:00Z') });
    expect(failureOf(await scene.import({ cert: [scene.file('both.pem')] }))).toEqual([
      'already_exists',
      `${there}, and was revoked on 2026-03-04, so it is not used. Have another one issued; if it ` +
        `was revoked by mistake, muster api DELETE /certificates/${id} and add it again`,
    ]);
  });

  it('imports an expired one with --force', async () => {
    const identity = await strayPushIdentity(-1);
    writeFileSync(scene.file('late.pem'), certificatePem(identity.certificate) + keyPem(identity));
    const [code, message] = failureOf(await scene.import({ cert: [scene.file('late.pem')] }));
    expect(code).toBe('certificate_not_valid');
    expect(message).toMatch(/^it expired at \S+Z; --force stores it all the same$/);
  });

  it('refuses another topic while devices listen to theirs, unless forced', async () => {
    await scene.imported();
    await scene.enroll(TOPIC, 2);
    await scene.obtain(OTHER_TOPIC);
    const cert = [scene.file('apple.pem')];
    const [code, message] = failureOf(await scene.import({ cert }));
    expect(code).toBe('push_topic_mismatch');
    expect(message).toContain(`2 to ${TOPIC} (of the Apple account ${ACCOUNT})`);
    expect(message).toMatch(/Or repeat this with --force: a former certificate .* stays/);
    expect(await scene.count('certificates')).toBe(2);
    expect((await scene.import({ cert, force: true })).error).toBeUndefined();
    const { details } = await scene.db.knex('audit_events').orderBy('id', 'desc').first();
    expect(details).toMatchObject({
      changes: { purpose: [null, 'mdm.pushcert'], push_topic: [null, OTHER_TOPIC] },
      forced: true,
    });
  });
});
