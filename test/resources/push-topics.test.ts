import { PLACEHOLDER_TOPIC } from '../../src/pki/push-certificates/push-topic.js';
import { createTestApi, type TestApi } from '../jsonapi/test-api.js';
import {
  certificatePem,
  credentialClient,
  faults,
  keyPem,
  makePushIdentity,
} from './certificate-samples.js';

const CERTIFICATE = '/data/attributes/pem_certificate';
const MISMATCH = [409, ['push_topic_mismatch', CERTIFICATE]];
const FORMER = 'com.apple.mgmt.External.former';
const OTHER = 'com.apple.mgmt.External.other';

let api: TestApi;
let client: ReturnType<typeof credentialClient>;
beforeAll(async () => {
  api = await createTestApi();
  client = credentialClient(api);
});
beforeEach(async () => {
  for (const table of ['devices', 'certificates', 'rsa_private_keys'])
    await api.knex(table).delete();
});
afterAll(() => api.close());

async function push(topic: string, extra: Record<string, unknown> = {}, query = '') {
  const identity = await makePushIdentity(topic);
  return client.post(`/push_certificates${query}`, {
    pem_certificate: certificatePem(identity.certificate),
    pem_private_key: keyPem(identity),
    ...extra,
  });
}

const enroll = (count: number, topic: string, isEnrolled = true) =>
  api.knex.raw(
    `insert into devices (udid, is_enrolled, topic)
     select gen_random_uuid()::text, ?, ? from generate_series(1, ?::integer)`,
    [isEnrolled, topic, count],
  );

async function rows() {
  const [certificates, keys] = await Promise.all(
    ['certificates', 'rsa_private_keys'].map((table) => api.knex(table).count().first()),
  );
  return [Number(certificates?.count), Number(keys?.count)];
}

describe('a push certificate of another topic than enrolled devices listen to', () => {
  it('is refused, and nothing is stored', async () => {
    await push(FORMER, { apple_account: 'it@example.com' });
    await enroll(3, FORMER);
    await enroll(1, 'com.apple.mgmt.External.lost');
    const refused = await push(OTHER);
    expect(faults(refused)).toEqual(MISMATCH);
    const [{ detail }] = refused.body.errors;
    expect(detail).toContain(`the topic of this push certificate is ${OTHER}`);
    expect(detail).toContain(`3 to ${FORMER} (of the Apple account it@example.com)`);
    expect(detail).toContain('1 to com.apple.mgmt.External.lost');
    expect(detail).toContain('goes on serving its devices while it lasts');
    expect(detail).toContain('identity.apple.com');
    expect(detail).toContain('?force=true');
    expect(await rows()).toEqual([1, 1]);
  });

  it('is accepted when they enrolled before the first certificate: no other one could wake them', async () => {
    await enroll(2, PLACEHOLDER_TOPIC);
    expect((await push(OTHER)).status).toBe(201);
  });

  it('is refused without its key, in the general collection, and as a change of purpose', async () => {
    await enroll(1, FORMER);
    const { certificate } = await makePushIdentity(OTHER);
    const pem_certificate = certificatePem(certificate);
    const bare = await client.post('/certificates', { pem_certificate, purpose: 'mdm.pushcert' });
    expect(faults(bare)).toEqual(MISMATCH);
    const { id } = await client.create('/certificates', {
      pem_certificate,
      purpose: 'mdm.encrypt',
    });
    const change = { attributes: { purpose: 'mdm.pushcert' } };
    const changed = await client.patch(`/certificates/${id}`, change);
    expect(faults(changed)).toEqual([409, ['push_topic_mismatch', '/data/attributes/purpose']]);
    expect((await api.knex('certificates').where({ id }).first()).purpose).toBe('mdm.encrypt');
    const forced = await client.patch(`/certificates/${id}?force=true`, change);
    expect(forced.body.data[0].attributes).toMatchObject({
      purpose: 'mdm.pushcert',
      push_topic: OTHER,
    });
  });

  it('is accepted with force, with an audit line, and from then on without', async () => {
    await enroll(1, FORMER);
    const forced = await push(OTHER, {}, '?force=true');
    expect(forced.status).toBe(201);
    const line = await api.knex('audit_events').orderBy('id', 'desc').first();
    expect([line.action, line.details]).toEqual([
      'certificates.create',
      {
        changes: {
          pem_certificate: [null, expect.stringMatching(/^CERTIFICATE sha256:[0-9a-f]{64}$/)],
          pem_private_key: 'changed',
          purpose: [null, 'mdm.pushcert'],
          rsa_private_key: [null, expect.any(Number)],
        },
        parameters: ['force'],
      },
    ]);
    expect((await push(OTHER)).status).toBe(201);
  });

  it.each([
    ['no device is enrolled', async () => undefined],
    ['devices were enrolled once', () => enroll(2, FORMER, false)],
    ['devices listen to its topic', () => enroll(1, OTHER)],
    [
      'devices listen to its topic beside others',
      async () => {
        await enroll(5, FORMER);
        await enroll(1, OTHER);
      },
    ],
  ])('is accepted where %s', async (_what, prepare) => {
    await prepare();
    expect((await push(OTHER)).status).toBe(201);
  });

  it('is refused with a text that is not a topic, by force too', async () => {
    const response = await push('com.apple.other', {}, '?force=true');
    expect(faults(response)).toEqual([422, ['validation_failed', CERTIFICATE]]);
    expect(await rows()).toEqual([0, 0]);
  });
});

describe('the Apple account of a push certificate', () => {
  const accountOf = async (topic: string, extra = {}) => {
    const { body } = await push(topic, extra);
    return [body.data[0].attributes.apple_account, Number(body.data[0].id)];
  };

  it('is copied to a renewal, unless it names another or none', async () => {
    expect(await accountOf(FORMER, { apple_account: 'it@example.com' })).toEqual([
      'it@example.com',
      expect.any(Number),
    ]);
    const [taken] = await accountOf(FORMER);
    const [other] = await accountOf(OTHER);
    const [none] = await accountOf(FORMER, { apple_account: null });
    const [moved] = await accountOf(FORMER, { apple_account: 'new@example.com' });
    const [last] = await accountOf(FORMER);
    expect([taken, other, none, moved, last]).toEqual([
      ...['it@example.com', null, null, 'new@example.com', 'new@example.com'],
    ]);
  });

  it('can be set later, and is cleared with the purpose', async () => {
    const [, id] = await accountOf(FORMER);
    const change = async (attributes: object) => {
      const { status, body } = await client.patch(`/certificates/${id}`, { attributes });
      return [status, body.data?.[0].attributes.apple_account];
    };
    expect(await change({ apple_account: 'it@example.com' })).toEqual([200, 'it@example.com']);
    expect(await change({ purpose: 'mdm.pushcert' })).toEqual([200, 'it@example.com']);
    expect(await change({ apple_account: null })).toEqual([200, null]);
    await change({ apple_account: 'it@example.com' });
    expect(await change({ purpose: 'mdm.encrypt' })).toEqual([200, null]);
  });

  it('is not accepted for other kinds of certificates', async () => {
    const { certificate } = await makePushIdentity(FORMER);
    const attributes = { pem_certificate: certificatePem(certificate), purpose: 'mdm.encrypt' };
    const fault = [422, ['validation_failed', '/data/attributes/apple_account']];
    const apple_account = 'it@example.com';
    const refused = await client.post('/certificates', { ...attributes, apple_account });
    expect(faults(refused)).toEqual(fault);
    const { id } = await client.create('/certificates', attributes);
    const change = { attributes: { apple_account } };
    expect(faults(await client.patch(`/certificates/${id}`, change))).toEqual(fault);
    const long = { attributes: { apple_account: 'x'.repeat(256) } };
    expect(faults(await client.patch(`/certificates/${id}`, long))).toEqual(fault);
    expect((await api.knex('certificates').where({ id }).first()).apple_account).toBeNull();
  });
});
