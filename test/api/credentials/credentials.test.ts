import express from 'express';
import request from 'supertest';
import { mountRoutes } from '../../../src/api/api-route.js';
import {
  type CredentialRouteDeps,
  credentialRoutes,
} from '../../../src/api/credentials/credentials.js';
import { jsonApiErrorHandler } from '../../../src/http/errors/json-api-errors.js';
import { requestContext, setActor } from '../../../src/http/requests/request-context.js';
import { createProxyTrust } from '../../../src/http/requests/trust-proxy.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import { capturingLogger } from '../../http/log-lines.js';

const DAY_MS = 86_400_000;

/** As the API writes it: without a fraction that is zero. */
const shown = (time: Date) => time.toISOString().replace(/(\.000)?Z$/, '+00:00');
const TOPIC = 'com.apple.mgmt.External.1';
const USUAL: CredentialRouteDeps['config'] = {
  enrollment: 'closed',
  replaceEnrolled: 'allow',
  lab: false,
  publicUrl: 'https://mdm.example.com',
  apnsHost: 'https://push.example.com',
  depSyncInterval: 60_000,
  backupEvery: undefined,
};

const PROCESS_TABLES = ['push_topics', 'server_processes'];

let test: TestDatabase;
let keyId = 0;
let serial = 0;

beforeAll(async () => {
  test = await createTestDatabase();
  const key = { key_type: 'RSA', key_size: 2048, fingerprint_sha256: 'aa' };
  const row = { ...key, sealed_pkcs8: Buffer.from('sealed') };
  const [inserted] = await test.db.knex('rsa_private_keys').insert(row).returning('id');
  keyId = inserted.id;
});
afterEach(async () => {
  for (const table of [
    ...['certificates', 'dep_accounts', 'devices', 'backups'],
    ...PROCESS_TABLES,
  ]) {
    await test.db.knex(table).delete();
  }
});
afterAll(() => test.drop());

interface Given {
  purpose?: string;
  name?: string;
  topic?: string | null;
  days?: number;
  hasKey?: boolean;
}

/** Ends half a day after `days`, so that the days left are the same however long the test takes. */
async function certificate(given: Given = {}): Promise<number> {
  const { purpose = 'mdm.pushcert', name = 'APSP:1', days = 200, hasKey = true } = given;
  const { topic = purpose === 'mdm.pushcert' ? TOPIC : null } = given;
  serial += 1;
  const [row] = await test.db
    .knex('certificates')
    .insert({
      purpose,
      subject: `CN=${name}`,
      issuer: 'CN=CA',
      x509_cn: name,
      push_topic: topic,
      serial: `${serial}`,
      der: Buffer.from([serial]),
      fingerprint: Buffer.alloc(32, serial),
      not_before: new Date(0),
      not_after: new Date(Date.now() + (days + 0.5) * DAY_MS),
      rsa_private_key_id: hasKey ? keyId : null,
    })
    .returning('id');
  return row.id;
}

function devices(count: number, facts: Record<string, unknown>) {
  const row = { is_enrolled: true, topic: TOPIC, push_state: 'ok', ...facts };
  return test.db.knex('devices').insert(Array.from({ length: count }, () => row));
}

function get(path = '/credentials', config = USUAL, more: Partial<CredentialRouteDeps> = {}) {
  const app = express();
  app.use(requestContext(createProxyTrust([])));
  app.use((_req, res, next) => {
    setActor(res, { name: 'eye', role: 'viewer' });
    next();
  });
  app.use('/api/v1', mountRoutes(credentialRoutes({ db: test.db, config, ...more }, '/api/v1')));
  app.use(jsonApiErrorHandler(capturingLogger().logger));
  return request(app).get(`/api/v1${path}`);
}

interface Warning {
  code: string;
  detail: string;
}

async function warnings(config = USUAL): Promise<Warning[]> {
  const { body, status } = await get('/credentials', config);
  expect(status).toBe(200);
  return body.data.attributes.warnings as Warning[];
}

describe('backups at GET /api/v1/credentials', () => {
  const DAILY: typeof USUAL = { ...USUAL, backupEvery: DAY_MS };
  const ago = (days: number) => new Date(Date.now() - days * DAY_MS);
  const add = (state: string, days: number, error: string | null = null) =>
    test.db.knex('backups').insert({
      ...{ state, error, source: 'schedule', is_encrypted: false, file: `/backups/${days}` },
      ...{ started_at: ago(days), finished_at: ago(days) },
    });
  const ofBackups = async (config = DAILY) =>
    (await warnings(config)).filter(({ code }) => code.startsWith('backup_'));
  const lastBackup = async () => (await get()).body.data.attributes.last_backup_at;

  it('show when the newest good one was begun, of which the file is there', async () => {
    expect(await lastBackup()).toBeNull();
    await add('finished', 3);
    await add('failed', 1, 'the disk is full');
    expect(Math.round((Date.now() - Date.parse(await lastBackup())) / DAY_MS)).toBe(3);
    await add('deleted', 2);
    expect(Math.round((Date.now() - Date.parse(await lastBackup())) / DAY_MS)).toBe(3);
  });

  it('warn of one that failed until one succeeds', async () => {
    await add('finished', 3);
    await add('failed', 1, 'the disk is full');
    expect(await ofBackups(USUAL)).toEqual([
      {
        code: 'backup_failed',
        detail: expect.stringMatching(
          /^The last backup failed: the disk is full\. The last good one is of \S+Z\. Remove/,
        ),
      },
    ]);
    await add('finished', 0);
    expect(await ofBackups()).toEqual([]);
  });

  it('warn after two intervals of BACKUP_EVERY without one', async () => {
    expect(await ofBackups()).toEqual([]);
    await add('finished', 2.1);
    expect(await ofBackups()).toMatchObject([{ code: 'backup_overdue' }]);
    expect(await ofBackups(USUAL)).toEqual([]);
    await add('finished', 1.9);
    expect(await ofBackups()).toEqual([]);
  });
});

describe('GET /api/v1/credentials', () => {
  it('takes no parameters', async () => {
    const { status, body } = await get('/credentials?sort=name');
    expect([status, body.errors[0].code]).toEqual([400, 'invalid_parameter']);
  });

  it('shows credentials that expire, the first to expire first, and no warning when all are valid', async () => {
    const push = await certificate();
    const ca = await certificate({ purpose: 'mdm.cacert', name: 'Muster CA', days: 3000 });
    await certificate({ purpose: 'mdm.device', name: 'a device', days: 2 });
    const [account] = await test.db
      .knex('dep_accounts')
      .insert({ server_name: 'ABM', access_token_expiry: new Date(Date.now() + 100.5 * DAY_MS) })
      .returning(['id', 'access_token_expiry']);
    await devices(2, {});
    const { status, body, headers } = await get();
    expect([status, headers['content-type']]).toEqual([200, 'application/vnd.api+json']);
    const [first, second, third] = body.data.attributes.credentials;
    expect(first).toEqual({
      kind: 'dep_token',
      source: 'database',
      id: account.id,
      name: 'ABM',
      topic: null,
      apple_account: null,
      identities: null,
      days_left: 100,
      status: 'ok',
      not_after: shown(account.access_token_expiry),
      links: { self: `/api/v1/dep/accounts/${account.id}` },
    });
    expect(second).toEqual({
      kind: 'push_certificate',
      source: 'database',
      id: push,
      name: 'APSP:1',
      topic: TOPIC,
      apple_account: null,
      identities: null,
      days_left: 200,
      status: 'ok',
      not_after: second.not_after,
      links: { self: `/api/v1/certificates/${push}` },
    });
    expect([third.kind, third.id, third.name, third.identities]).toEqual([
      ...['certificate_authority', ca, 'Muster CA', 0],
    ]);
    expect(body).toEqual({
      data: {
        type: 'credentials',
        id: 1,
        attributes: {
          credentials: [first, second, third],
          last_backup_at: null,
          enrollment: 'closed',
          warnings: [],
        },
        links: { self: '/api/v1/credentials' },
      },
      links: { self: '/api/v1/credentials' },
      jsonapi: { version: '1.0' },
    });
  });

  it('warns that devices are not notified of commands without a push certificate', async () => {
    await devices(3, {});
    expect(await warnings()).toEqual([
      {
        code: 'no_push_certificate',
        detail:
          'There is no usable push certificate: commands are queued, but no device is notified of ' +
          'them. POST one with its private key to /api/v1/push_certificates.',
      },
      {
        code: 'devices_without_push_certificate',
        detail:
          `3 enrolled devices of the topic ${TOPIC} cannot be notified of their commands: no usable ` +
          'push certificate has that topic. POST it to /api/v1/push_certificates, or enroll the ' +
          'devices anew.',
      },
    ]);
  });

  it('warns about a push certificate without its key', async () => {
    const id = await certificate({ hasKey: false });
    expect(await warnings()).toEqual([
      expect.objectContaining({ code: 'no_push_certificate' }),
      {
        code: 'push_certificate_without_key',
        detail:
          `The push certificate "APSP:1" (id ${id}) has no private key, so nothing can be pushed ` +
          `with it. PATCH /api/v1/certificates/${id} with pem_private_key, or POST it again with ` +
          'its key.',
      },
    ]);
  });

  it('warns about a renewed push certificate without its key, and names the one in use', async () => {
    const used = await certificate({ days: 40 });
    const renewed = await certificate({ hasKey: false });
    const not_after = new Date('2099-05-06T12:00:00Z');
    await test.db.knex('certificates').where({ id: used }).update({ not_after });
    const [warning, ...others] = await warnings();
    expect([warning?.code, others]).toEqual(['push_certificate_without_key', []]);
    expect(warning?.detail.replace(/in \d+ days/, 'in n days')).toBe(
      `The push certificate "APSP:1" (id ${renewed}) has no private key, so nothing can be pushed ` +
        `with it; id ${used}, which expires on 2099-05-06, in n days, stays in use. PATCH ` +
        `/api/v1/certificates/${renewed} with pem_private_key, or POST it again with its key.`,
    );
    const later = { rsa_private_key_id: keyId, not_after: new Date('2100-05-06T12:00:00Z') };
    await test.db.knex('certificates').where({ id: renewed }).update(later);
    expect(await warnings()).toEqual([]);
  });

  it('warns about a push certificate that no CA has issued, but not in the lab', async () => {
    const id = await certificate();
    await test.db.knex('certificates').where({ id }).update({ issuer: 'CN=APSP:1' });
    expect(await warnings()).toEqual([
      {
        code: 'push_certificate_self_signed',
        detail:
          `The push certificate in use for ${TOPIC} (id ${id}) is signed by itself, not issued by ` +
          'Apple, whose push service will refuse it. Get one at identity.apple.com and POST it to ' +
          '/api/v1/push_certificates.',
      },
    ]);
    const inLab = await warnings({ ...USUAL, lab: true });
    expect(inLab.map(({ code }) => code)).toEqual(['lab_on']);
  });

  it('warns about a push certificate that ends before the one that it replaced', async () => {
    const former = await certificate({ days: 300 });
    await certificate({ days: 250 });
    await certificate({ days: 400, purpose: 'mdm.webcrt' });
    expect((await warnings()).map(({ code }) => code)).toEqual(['push_certificate_older']);
    const used = await certificate({ days: 298 });
    expect(await warnings()).toEqual([
      {
        code: 'push_certificate_older',
        detail:
          `The push certificate in use for ${TOPIC} (id ${used}) ends 2 days earlier than the one ` +
          `that it replaced (id ${former}). If an older one was added by mistake, DELETE ` +
          `/api/v1/certificates/${used} or revoke it: id ${former} is in use again then.`,
      },
    ]);
    await test.db.knex('certificates').where({ id: former }).update({ revoked_at: new Date() });
    expect(await warnings()).toEqual([]);
  });

  it.each([
    ['mdm.pushcert', 'push_certificate', ['no_push_certificate']],
    ['mdm.cacert', 'certificate_authority', []],
    ['mdm.webcrt', 'ssl_certificate', []],
  ])(
    'warns of a certificate for %s 30 days before it ends, and after',
    async (purpose, kind, also) => {
      const isPush = purpose === 'mdm.pushcert';
      if (!isPush) await certificate();
      const topic = isPush ? TOPIC : null;
      const expiring = await certificate({ purpose, topic, name: 'It', days: 29 });
      const [warning, ...others] = await warnings();
      expect(others).toEqual([]);
      expect(warning?.code).toBe(`${kind}_expiring`);
      expect(warning?.detail).toMatch(
        /"It" \(id \d+\) expires on \d{4}-\d\d-\d\d, in 29 days\. \w/,
      );
      expect(warning?.detail).toContain(`(id ${expiring})`);

      const not_after = new Date(Date.now() - DAY_MS);
      await test.db.knex('certificates').where({ id: expiring }).update({ not_after });
      const expired = await warnings();
      expect(expired.map(({ code }) => code)).toEqual([...also, `${kind}_expired`]);
      const day = not_after.toISOString().slice(0, 10);
      expect(expired.at(-1)?.detail).toContain(`(id ${expiring}) expired on ${day}. `);
    },
  );

  it('explains how a push certificate is renewed', async () => {
    await certificate({ days: 1 });
    const [warning] = await warnings();
    expect(warning?.detail).toMatch(
      /, in 1 day\. Renew it at identity\.apple\.com under the Apple /,
    );
  });

  it('shows the Apple account that can renew a push certificate, if it is known', async () => {
    const id = await certificate({ days: 1 });
    const apple_account = 'ada@example.com';
    await test.db.knex('certificates').where({ id }).update({ apple_account });
    const { body } = await get();
    const { credentials, warnings: found } = body.data.attributes;
    expect(credentials[0].apple_account).toBe(apple_account);
    expect(found[0].detail).toContain(
      ' under the Apple Account ada@example.com, so that its topic',
    );
  });

  it('shows the certificate of TLS_CERT_FILE, which has no id, and warns of its end', async () => {
    await certificate();
    const notAfter = new Date(Date.now() + 9.5 * DAY_MS);
    const names = { commonName: 'mdm.example.com', subject: 'CN=mdm' };
    const tlsFile = () => ({ ...names, notBefore: new Date(0), notAfter });
    const { body } = await get('/credentials', USUAL, { tlsFile });
    const { credentials, warnings: found } = body.data.attributes;
    expect(credentials[0]).toEqual({
      kind: 'ssl_certificate',
      source: 'file',
      id: null,
      name: 'mdm.example.com',
      days_left: 9,
      status: 'expiring',
      topic: null,
      apple_account: null,
      identities: null,
      not_after: shown(notAfter),
      links: { self: '/api/v1/credentials' },
    });
    expect(found.map(({ code }: Warning) => code)).toEqual(['ssl_certificate_expiring']);
    expect(found[0].detail).toContain('"mdm.example.com" (of TLS_CERT_FILE) expires on ');
  });

  it('shows a certificate of TLS_CERT_FILE that is not valid yet as such, and says since when', async () => {
    await certificate();
    const notBefore = new Date(Date.now() + DAY_MS);
    const notAfter = new Date(Date.now() + 99.5 * DAY_MS);
    const tlsFile = () => ({ commonName: 'mdm', subject: 'CN=mdm', notBefore, notAfter });
    const caveat = { code: 'tls_certificate_other_host' as const, detail: 'for another' };
    const { body } = await get('/credentials', USUAL, { tlsFile, tlsCaveats: () => [caveat] });
    const { credentials, warnings: found } = body.data.attributes;
    expect([credentials[0].status, credentials[0].not_before]).toEqual([
      'not_yet_valid',
      undefined,
    ]);
    const [own, ...others] = found;
    expect(others).toEqual([caveat]);
    expect(own.code).toBe('ssl_certificate_not_yet_valid');
    expect(own.detail).toContain(`is not valid before ${notBefore.toISOString()}`);
  });

  describe('of identities of devices that end within 30 days', () => {
    let serialOfIdentity = 0;

    async function identity(facts: Record<string, unknown>, is_enrolled = true): Promise<number> {
      serialOfIdentity += 1;
      const [device] = await test.db.knex('devices').insert({ is_enrolled, topic: TOPIC }, 'id');
      await test.db.knex('device_identities').insert({
        fingerprint: Buffer.alloc(32, serialOfIdentity),
        device_id: device.id,
        state: 'active',
        renew_at: new Date(0),
        not_after: new Date(Date.now() + DAY_MS),
        ...facts,
      });
      return device.id;
    }

    async function renewal(device_id: number, problem: string | null): Promise<void> {
      const row = {
        device_id,
        fingerprint: Buffer.alloc(32),
        next_attempt_at: new Date(),
        problem,
      };
      await test.db.knex('identity_renewals').insert(row);
    }

    beforeEach(async () => {
      await certificate();
    });
    afterEach(() => test.db.knex('device_identities').delete());

    it('is empty for those that are renewed, last longer, or are no longer used', async () => {
      await renewal(await identity({}), null);
      await identity({ not_after: new Date(Date.now() + 31 * DAY_MS) });
      await identity({ state: 'superseded' });
      await identity({ state: 'revoked' });
      await identity({}, false);
      expect(await warnings()).toEqual([]);
    });

    it('is a single one, with their number and the first end', async () => {
      const not_after = new Date('2026-01-02T12:00:00Z');
      await identity({ not_after });
      await identity({ renew_at: null });
      await renewal(await identity({}), 'the device has refused it');
      expect(await warnings()).toEqual([
        {
          code: 'identities_expiring',
          detail:
            'The identities of 3 enrolled devices end within 30 days, the first on 2026-01-02, and ' +
            'are not being renewed: a CA elsewhere issued them, or the renewal fails. Once they ' +
            'have ended, and IDENTITY_GRACE is over, the devices must be enrolled anew. POST ' +
            '/api/v1/devices/{id}/renew_identity begins a renewal.',
        },
      ]);
    });
  });

  it('warns about a DEP token that ends', async () => {
    await certificate();
    await test.db
      .knex('dep_accounts')
      .insert({ server_name: 'ABM', access_token_expiry: new Date(Date.now() + 3.5 * DAY_MS) });
    const [warning, ...others] = await warnings();
    expect([warning?.code, others]).toEqual(['dep_token_expiring', []]);
    expect(warning?.detail).toContain('"ABM"');
  });

  it('warns about DEP accounts that are not up to date, with the reason', async () => {
    await certificate();
    const now = Date.now();
    const ago = (minutes: number) => new Date(now - minutes * 60_000);
    const account = (consumer_key: string, minutes: number, more = {}) => {
      const synced = { token_updated_at: ago(60), sync_finished_at: ago(minutes) };
      return { consumer_key, server_name: consumer_key, status: 'ok', ...synced, ...more };
    };
    const rows = await test.db.knex('dep_accounts').insert(
      [
        account('fresh', 2.5),
        account('new', 0, { token_updated_at: ago(1), sync_finished_at: null }),
        account('terms', 9, {
          status: 'terms_not_signed',
          status_text: 'T_C',
          status_advice: 'Do.',
        }),
        account('stale', 4, { sync_error: 'no answer' }),
        account('never', 0, { sync_finished_at: null, status: 'unconfirmed' }),
        account('CK_lab_1', 9, { status: 'token_expired' }),
        account('CK_lab_2', 9, { status: 'lab_off' }),
        { server_name: 'no token', created_at: ago(60) },
      ],
      'id',
    );
    const ids = rows.map(({ id }) => id);
    expect(await warnings()).toEqual([
      {
        code: 'dep_account_terms_not_signed',
        detail:
          `The account "terms" (id ${ids[2]}) of Apple's device enrollment is not up to date: ` +
          'somebody has to accept Apple\'s new terms. Apple says: "T_C". Do.',
      },
      {
        code: 'dep_account_not_synced',
        detail:
          `The account "stale" (id ${ids[3]}) of Apple's device enrollment was not synced since ` +
          `${ago(4).toISOString()}. no answer. See whether a process with the role worker runs, and ` +
          `/api/v1/jobs; POST /api/v1/dep/accounts/${ids[3]}/sync begins one.`,
      },
      { code: 'dep_account_not_synced', detail: expect.stringContaining('was never synced.') },
    ]);
    const byHand = await warnings({ ...USUAL, depSyncInterval: undefined });
    expect(byHand.map(({ code }) => code)).toEqual(['dep_account_terms_not_signed']);
    const inLab = await warnings({ ...USUAL, lab: true });
    expect(inLab.map(({ code }) => code)).toContain('dep_account_token_expired');
  });

  it('warns about accounts that are of one server at Apple', async () => {
    await certificate();
    const [plain, dashed] = [
      '1F97349736CF4614A94F624E705841AD',
      '1f973497-36cf-4614-a94f-624e705841ad',
    ];
    const fresh = { status: 'ok', token_updated_at: new Date() };
    const rows = await test.db
      .knex('dep_accounts')
      .insert(
        [
          { ...fresh, consumer_key: 'CK_1', server_uuid: plain, server_name: 'HQ' },
          { ...fresh, consumer_key: 'CK_2', server_uuid: dashed },
          { ...fresh, consumer_key: 'CK_3', server_uuid: dashed.replace('1', '2') },
          { server_uuid: plain },
          { ...fresh, consumer_key: 'CK_lab_1', server_uuid: dashed },
        ],
        'id',
      );
    const [one, two] = rows.map(({ id }) => id);
    expect(await warnings()).toEqual([
      {
        code: 'dep_account_duplicate',
        detail:
          `The accounts ${one} and ${two} of Apple's device enrollment are of the same server "HQ" at ` +
          'Apple: each lists its devices, and assigns them its own default profile. Delete all but one ' +
          '(DELETE /api/v1/dep/accounts/{id}).',
      },
    ]);
  });

  it('warns about several topics, and about the devices of one that has no certificate', async () => {
    await certificate();
    await certificate({ name: 'APSP:2', topic: 'topic.2', days: 300 });
    await certificate({ name: 'APSP:3', topic: 'topic.3', days: -1 });
    await devices(1, { topic: 'topic.3' });
    await devices(1, { topic: 'topic.2' });
    const found = await warnings();
    expect(found.map(({ code }) => code)).toEqual([
      'several_push_topics',
      'devices_without_push_certificate',
      'push_certificate_expired',
    ]);
    expect(found[0]?.detail).toBe(
      `There are push certificates of 2 topics (${TOPIC}, topic.2). New devices enroll with ` +
        'topic.2, whose certificate was added last; each must be renewed as long as devices of its ' +
        'topic are enrolled.',
    );
    expect(found[1]?.detail).toMatch(/^1 enrolled device of the topic topic\.3 cannot /);
  });

  it("gives Apple's reason for a topic that it refuses, since when, and the next attempt", async () => {
    await certificate();
    await test.db.knex('push_topics').insert({
      topic: TOPIC,
      blocked_reason: 'BadCertificateEnvironment',
      blocked_at: new Date(86_400_000),
      retry_at: new Date(90_000_000),
    });
    expect(await warnings()).toEqual([
      {
        code: 'push_topic_blocked',
        detail:
          `Apple's push service refuses the certificate of ${TOPIC} since ` +
          '1970-01-02T00:00:00.000Z: BadCertificateEnvironment. Its devices are not pushed; the ' +
          'next attempt is at 1970-01-02T01:00:00.000Z, or at once when its successor is POSTed ' +
          'to /api/v1/push_certificates.',
      },
    ]);
  });

  describe('of a push service that cannot be reached', () => {
    const NO_NAME = 'the push service at push.example.com cannot be reached (ENOTFOUND)';

    function process(pid: number, facts: Record<string, unknown> = {}) {
      return test.db.knex('server_processes').insert({
        id: `p${pid}`,
        role: 'all',
        hostname: 'one.example.com',
        pid,
        version: '1',
        push_trouble: NO_NAME,
        push_trouble_since: new Date(pid * 3_600_000),
        ...facts,
      });
    }

    it('do not appear while every process that sends heartbeats reaches it', async () => {
      await certificate();
      await process(1, { push_trouble: null, push_trouble_since: null });
      await process(2, { seen_at: test.db.knex.raw("now() - interval '31 seconds'") });
      expect(await warnings()).toEqual([]);
    });

    it('say which host, from where, since when, why, and what to look at', async () => {
      await certificate();
      await process(7, { seen_at: test.db.knex.raw("now() - interval '20 seconds'") });
      expect(await warnings()).toEqual([
        {
          code: 'push_service_unreachable',
          detail:
            'https://push.example.com cannot be reached from one.example.com (process 7) since ' +
            '1970-01-01T07:00:00.000Z: the push service at push.example.com cannot be reached ' +
            '(ENOTFOUND). Commands wait, and their devices are pushed once it can be. Check there ' +
            'that APNS_HOST is meant, that its name resolves, and that no firewall or proxy keeps ' +
            'HTTP/2 over TLS from it; POST /api/v1/devices/{id}/push tries it from the process ' +
            'that answers.',
        },
      ]);
    });

    it('are one for each reason, whose processes are named', async () => {
      await certificate();
      await process(3);
      await process(1, { hostname: 'two.example.com' });
      await process(2, { push_trouble: 'it does not answer' });
      const found = await warnings();
      expect(found.map(({ code }) => code)).toEqual(Array(2).fill('push_service_unreachable'));
      expect(found[0]?.detail).toContain(
        ' from two.example.com (process 1), one.example.com (process 3) since 1970-01-01T01:00:00.000Z: the',
      );
      expect(found[1]?.detail).toContain(
        ' from one.example.com (process 2) since 1970-01-01T02:00:00.000Z: it does not answer. ',
      );
    });

    it("name the lab's stand-in where it is in Apple's place", async () => {
      await certificate();
      await process(1);
      const [warning] = await warnings({ ...USUAL, lab: true });
      expect(warning?.detail).toMatch(/^The lab's stand-in for Apple's push service cannot be /);
    });
  });

  it('counts the devices whose push token was refused', async () => {
    await certificate();
    await devices(2, { push_state: 'unregistered' });
    await devices(1, { push_state: 'bad_token' });
    const [warning, ...others] = await warnings();
    expect([warning?.code, others]).toEqual(['devices_not_pushable', []]);
    expect(warning?.detail).toContain('the push token of 3 enrolled devices.');
  });

  it('warns of open enrollment unless PUBLIC_URL names this machine alone', async () => {
    await certificate();
    const open = { ...USUAL, enrollment: 'open' as const };
    expect((await warnings(open)).map(({ code }) => code)).toEqual(['enrollment_open']);
    for (const publicUrl of ['http://localhost:8080', 'http://127.0.0.1', 'http://[::1]:8080']) {
      expect(await warnings({ ...open, publicUrl })).toEqual([]);
    }
    expect(await warnings({ ...open, enrollment: 'link' })).toEqual([]);
  });

  it('warns that an open server lets an enrolled device be replaced, unless that is held', async () => {
    await certificate();
    const open = { ...USUAL, enrollment: 'open' as const };
    const [warning] = await warnings(open);
    expect(warning?.detail).toContain('set REPLACE_ENROLLED=hold');
    const [holding] = await warnings({ ...open, replaceEnrolled: 'hold' });
    expect(holding?.detail).not.toContain('REPLACE_ENROLLED');
  });

  it('counts the enrollments that wait for an admin', async () => {
    await certificate();
    const expires_at = new Date(Date.now() + DAY_MS);
    const held = { method: 'profile', held_at: new Date(), expires_at, udid: 'U' };
    const row = (fingerprint_sha256: string, facts: object = {}) => ({
      ...held,
      fingerprint_sha256,
      ...facts,
    });
    await test.db
      .knex('enrollment_requests')
      .insert([
        ...[row('a'), row('b'), row('c', { approved_at: new Date() })],
        ...[row('d', { expires_at: new Date(0) }), row('e', { held_at: null })],
      ]);
    const [warning, ...others] = await warnings();
    expect([warning?.code, others]).toEqual(['enrollments_held', []]);
    expect(warning?.detail).toMatch(/^2 enrollments of enrolled devices wait for an admin/);
    await test.db.knex('enrollment_requests').delete();
  });

  it('warns that the lab is on', async () => {
    await certificate();
    const lab = { ...USUAL, lab: true };
    expect((await warnings(lab)).map(({ code }) => code)).toEqual(['lab_on']);
  });
});
