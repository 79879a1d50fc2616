import { spawn, spawnSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:http2';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { ConfigError } from '../../src/config/config.js';
import { decodePemBlock, encodePem } from '../../src/crypto/asn1/pem.js';
import { importPrivateKey, keysMatch } from '../../src/crypto/keys/keys.js';
import { SecretBox } from '../../src/crypto/secrets/secret-box.js';
import { issueCertificate, parseCertificate } from '../../src/crypto/x509/certificate.js';
import { readPushTopic } from '../../src/db/admin/settings-repository.js';
import { insertCertificate } from '../../src/db/pki/certificate-repository.js';
import {
  type LabDescription,
  type LabWithStandIns,
  openLab,
  retireLab,
} from '../../src/lab-mode/lab-mode.js';
import { certificateRecord } from '../../src/pki/certificates/certificate-record.js';
import { privateKeyLabel } from '../../src/pki/master-key/master-key.js';
import { startApp } from '../helpers/app.js';
import { createTestDatabase, type TestDatabase } from '../helpers/database.js';
import { removeTemporaryDirectories, temporaryDirectory } from '../helpers/temporary-directory.js';
import { capturingLogger } from '../http/log-lines.js';
import { eventually } from '../push/push-fixture.js';

const config = { publicUrl: 'http://localhost:8080', dataDir: '' };
const box = new SecretBox(Buffer.alloc(32, 7));
const TOPIC = /^com\.apple\.mgmt\.External\.[0-9a-f-]{36}$/;

let database: TestDatabase;
let labs: LabWithStandIns[];

beforeEach(async () => {
  database = await createTestDatabase();
  config.dataDir = temporaryDirectory();
  labs = [];
});

afterEach(async () => {
  for (const lab of labs) await lab.close();
  await database.drop();
});

afterAll(removeTemporaryDirectories);

async function open(logger = capturingLogger().logger): Promise<LabWithStandIns> {
  const lab = await openLab({ config, db: database.db, box, logger });
  labs.push(lab);
  return lab;
}

function pushCertificates() {
  return database.db
    .knex('certificates as c')
    .leftJoin('rsa_private_keys as k', 'k.id', 'c.rsa_private_key_id')
    .where({ purpose: 'mdm.pushcert' })
    .orderBy('c.id')
    .select(
      'c.id',
      'c.der',
      'c.push_topic',
      'c.revoked_at',
      'k.sealed_pkcs8',
      'k.fingerprint_sha256',
    );
}

/** As Apple would have issued it. */
async function storeRealCertificate(): Promise<number> {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const der = issueCertificate({
    subject: [{ type: 'UID', value: 'com.apple.mgmt.External.real' }],
    publicKey,
    issuerKey: privateKey,
    notBefore: new Date(Date.now() - 1000),
    notAfter: new Date(Date.now() + 86_400_000),
    keyUsage: ['digitalSignature'],
  });
  const record = certificateRecord(parseCertificate(der), 'mdm.pushcert');
  return insertCertificate(database.db.knex, record);
}

async function refusal(): Promise<string[]> {
  const error: unknown = await open().catch((cause: unknown) => cause);
  if (!(error instanceof ConfigError)) throw new Error('it was not refused', { cause: error });
  return error.problems;
}

describe('the lab refuses to start', () => {
  it('beside a real push certificate, and names it and the remedy', async () => {
    const id = await storeRealCertificate();
    expect(await refusal()).toEqual([
      `LAB: on does not work beside a real push certificate (id ${id}); use another DATA_DIR or DATABASE_URL for the lab`,
    ]);
    expect(await database.db.knex('server_settings').where({ name: 'lab' })).toEqual([]);
  });

  it('beside one that was added after the lab was on', async () => {
    await open();
    const id = await storeRealCertificate();
    expect(await refusal()).toEqual([
      `LAB: on does not work beside a real push certificate (id ${id}); use another DATA_DIR or DATABASE_URL for the lab`,
    ]);
  });

  it('beside a DEP account whose token is real', async () => {
    const accounts = [
      { consumer_key: 'CK_1' },
      { consumer_key: null },
      { consumer_key: 'CK_lab_1' },
    ];
    const rows = await database.db.knex('dep_accounts').insert(accounts).returning('id');
    const { id } = rows[0];
    expect(await refusal()).toEqual([
      `LAB: on does not work beside a real account of Apple's Automated Device Enrollment (id ${id}); start with LAB=off and DELETE /api/v1/dep/accounts/ID, or use another DATA_DIR or DATABASE_URL for the lab`,
    ]);
  });
});

describe('the lab', () => {
  it('makes a push certificate, stores it with its key, and writes an audit event', async () => {
    const { logger, lines, text } = capturingLogger();
    const lab = await open(logger);
    const [row, ...others] = await pushCertificates();
    expect(others).toEqual([]);
    expect(row.push_topic).toMatch(TOPIC);
    expect(await lab.describe()).toEqual({
      apns: {
        url: lab.apnsHost,
        ca: lab.apnsCa,
        courier: lab.standIn.courierUrl,
        control: lab.standIn.controlUrl,
      },
      dep: { url: lab.depHost, ca: lab.depCa, portal: lab.dep.portalUrl },
      push_topic: row.push_topic,
      device_ca: { certificate: expect.any(String), key: expect.any(String) },
      serials: [],
    });
    const audited = await database.db.knex('audit_events').select('actor', 'action', 'target_id');
    expect(audited).toEqual([
      { actor: 'system', action: 'certificates.create', target_id: String(row.id) },
    ]);
    expect(lines.map(({ level, push_topic, portal }) => [level, push_topic, portal])).toEqual([
      [30, row.push_topic, lab.dep.portalUrl],
    ]);
    expect(text()).not.toContain('PRIVATE KEY');
  });

  it('accepts pushes with that certificate', async () => {
    const lab = await open();
    const [row] = await pushCertificates();
    const pkcs8 = box.open(row.sealed_pkcs8, privateKeyLabel(row.fingerprint_sha256));
    const session = connect(lab.apnsHost, {
      ca: lab.apnsCa,
      cert: encodePem('CERTIFICATE', row.der),
      key: importPrivateKey(pkcs8).export({ format: 'pem', type: 'pkcs8' }),
    });
    const stream = session.request({
      ':method': 'POST',
      ':path': `/3/device/${'ab'.repeat(32)}`,
      'apns-topic': row.push_topic,
      'apns-push-type': 'mdm',
    });
    stream.end('{"mdm":"x"}');
    const [headers] = await once(stream, 'response');
    expect(headers[':status']).toBe(200);
    session.destroy();
  });

  it('keeps its CA and its certificate on the next start', async () => {
    const first = await open();
    await first.close();
    const second = await open();
    expect((await second.describe()).push_topic).toBe((await first.describe()).push_topic);
    expect(second.apnsCa).toBe(first.apnsCa);
    expect(await pushCertificates()).toHaveLength(1);
  });

  it('is one lab when two processes start at once', async () => {
    const [one, other] = await Promise.all([open(), open()]);
    expect(one.apnsCa).toBe(other.apnsCa);
    expect(await pushCertificates()).toHaveLength(1);
  });

  it('renews a certificate that ends soon, with its topic', async () => {
    const first = await open();
    const soon = new Date(Date.now() + 86_400_000);
    await database.db.knex('certificates').update({ not_after: soon });
    const second = await open();
    expect((await second.describe()).push_topic).toBe((await first.describe()).push_topic);
    const rows = await pushCertificates();
    expect(rows.map(({ push_topic }) => push_topic)).toEqual([
      (await first.describe()).push_topic,
      (await first.describe()).push_topic,
    ]);
  });

  it('revokes its certificate when it is off, and no real one', async () => {
    const { logger, lines } = capturingLogger();
    const retire = () => retireLab({ db: database.db, logger });
    await retire();
    const first = await open();
    await storeRealCertificate();
    await retire();
    await retire();
    const [ofLab, real] = await pushCertificates();
    expect([ofLab.revoked_at instanceof Date, real.revoked_at]).toEqual([true, null]);
    expect(lines.map(({ msg }) => msg)).toEqual([
      'the lab is off: its push certificate is revoked',
    ]);
    const audited = await database.db.knex('audit_events').orderBy('id').pluck('action');
    expect(audited).toEqual(['certificates.create', 'certificates.revoke']);
    await database.db.knex('certificates').where({ id: real.id }).delete();
    const again = await open();
    expect((await again.describe()).push_topic).toBe((await first.describe()).push_topic);
    expect(await readPushTopic(database.db.knex)).toBe((await first.describe()).push_topic);
    // Waiting devices are pushed.
    const { rows } = await database.db.knex.raw(
      'select task_identifier, key from graphile_worker.jobs',
    );
    const key = `push.rearm:${(await first.describe()).push_topic}`;
    expect(rows).toEqual([{ task_identifier: 'push.rearm', key }]);
  });

  it('suspends its accounts while it is off, and confirms them when it is on again', async () => {
    const { knex } = database.db;
    const lab = await open();
    const { consumer_key } = lab.dep.portal.issueToken();
    const row = { consumer_key, status: 'ok' };
    const [{ id }] = await knex('dep_accounts').insert(row).returning('id');
    const { logger } = capturingLogger();
    const account = () => knex('dep_accounts').where({ id }).first();
    await retireLab({ db: database.db, logger });
    expect(await account()).toMatchObject({
      status: 'lab_off',
      status_text: 'the token is one of the lab, which is off',
      status_advice: expect.stringContaining('LAB=on'),
    });
    await open();
    expect(await account()).toMatchObject({ status: 'unconfirmed', status_text: null });
    const { rows } = await knex.raw(
      "select task_identifier, key from graphile_worker.jobs where task_identifier like 'dep.%'",
    );
    expect(rows).toEqual([{ task_identifier: 'dep.confirm', key: `dep.confirm/${id}` }]);
  });

  it('keeps the state of DEP in its data directory, and starts without that file', async () => {
    const first = await open();
    const token = first.dep.portal.issueToken();
    const [serial = ''] = first.dep.portal.addDevices(undefined, { count: 1 });
    await first.close();
    const file = join(config.dataDir, 'lab', 'enrollment-program.json');
    expect(readFileSync(file, 'utf8')).not.toContain(token.access_secret);
    const second = await open();
    expect(second.dep.portal.lookUp([serial])).toHaveLength(1);
    await second.close();
    writeFileSync(file, '{');
    const third = await open();
    expect(third.dep.portal.lookUp([serial])).toEqual([]);
    expect(third.dep.portal.issueToken().consumer_key).toBe(token.consumer_key);
  });

  describe('beside other processes of the database', () => {
    const process = (columns: Record<string, unknown>) =>
      database.db.knex('server_processes').insert({
        id: crypto.randomUUID(),
        role: 'all',
        version: '0',
        hostname: 'elsewhere',
        pid: 7,
        ...columns,
      });

    it('is refused', async () => {
      await process({});
      await expect(open()).rejects.toThrow(
        'LAB: on is for a single process, but others use this database (elsewhere, process 7)',
      );
    });

    it('refuses them', async () => {
      await open();
      await process({});
      const { logger } = capturingLogger();
      await expect(retireLab({ db: database.db, logger })).rejects.toThrow(
        'LAB: is on in another process of this database (elsewhere, process 7); stop it first',
      );
      expect((await pushCertificates())[0].revoked_at).toBeNull();
    });

    const hasProc = existsSync('/proc/self/stat') ? it : it.skip;
    hasProc('minds none that was killed and whose parent does not ask for it', async () => {
      // exec replaces the shell by a program that does not wait for the child. The child ends only
      // after that: some shells collect one that ended before.
      const parent = spawn('sh', ['-c', 'sleep 60 & echo $!; exec sleep 60']);
      const [line] = await once(parent.stdout, 'data');
      const pid = Number(String(line));
      const statOf = (id: number) => readFileSync(`/proc/${id}/stat`, 'utf8');
      await eventually(() => expect(statOf(parent.pid ?? 0)).toMatch(/^\d+ \(sleep\) /));
      globalThis.process.kill(pid);
      await eventually(() => expect(statOf(pid)).toMatch(/^\d+ \(\w+\) Z /));
      await process({ hostname: hostname(), pid });
      await open();
      expect(parent.kill('SIGKILL')).toBe(true);
      await process({ hostname: hostname(), pid: globalThis.process.ppid });
      await expect(open()).rejects.toThrow('others use this database');
    });

    it('ignores killed processes and those without a recent heartbeat', async () => {
      const gone = spawnSync('true').pid;
      await process({ hostname: hostname(), pid: gone });
      await process({ hostname: hostname(), pid: globalThis.process.pid });
      await process({ seen_at: new Date(Date.now() - 60_000) });
      await open();
      expect(await pushCertificates()).toHaveLength(1);
    });
  });

  it.each(['lab', 'lab_device_ca'])('keeps the key of its CA in %s sealed', async (name) => {
    await open();
    const { value } = await database.db.knex('server_settings').where({ name }).first();
    expect(new Set(Object.keys(value))).toEqual(new Set(['ca', 'sealed_key']));
    expect(SecretBox.isSealed(Buffer.from(value.sealed_key, 'base64'))).toBe(true);
  });

  it('certifies devices with its own CA, and keeps it on the next start', async () => {
    const first = await open();
    const { device_ca } = await first.describe();
    const ca = parseCertificate(decodePemBlock(device_ca.certificate, 'CERTIFICATE'));
    expect([ca.subject, ca.isCa, ca.pathLength]).toEqual([
      'CN=Muster Lab Device CA,O=Muster',
      true,
      0,
    ]);
    const key = importPrivateKey(decodePemBlock(device_ca.key, 'PRIVATE KEY'));
    expect(keysMatch(key, ca.publicKey)).toBe(true);
    expect(first.factoryCas.map(({ der }) => der)).toEqual([ca.der]);
    expect(device_ca.certificate).not.toBe(first.apnsCa);
    await first.close();
    expect((await (await open()).describe()).device_ca).toEqual(device_ca);
  });

  it('lists the serial numbers of DEP devices that wait to be enrolled now', async () => {
    const lab = await open();
    const device = (serial_number: string | null, columns: object = {}) =>
      database.db.knex('devices').insert({ serial_number, is_dep: true, ...columns });
    await device('F2LAB0000001');
    await device('F2LAB0000002', { is_enrolled: true });
    await device('F2LAB0000003', { is_dep: false });
    await device(null);
    await device('F2LAB0000004');
    expect((await lab.describe()).serials).toEqual(['F2LAB0000001', 'F2LAB0000004']);
    await database.db.knex('devices').update({ is_enrolled: true });
    expect((await lab.describe()).serials).toEqual([]);
  });
});

describe('a server', () => {
  it('has no lab unless LAB=on', async () => {
    const app = await startApp({ database });
    expect((await fetch(`${app.url}/lab`)).status).toBe(404);
    await app.halt();
  });

  it('starts the lab with LAB=on, describes it at /lab, and ends it', async () => {
    const env = { LAB: 'on', PUBLIC_URL: 'http://localhost:8080' };
    const app = await startApp({ env, database });
    const response = await fetch(`${app.url}/lab`);
    expect(response.status).toBe(200);
    const { apns, dep, push_topic } = (await response.json()) as LabDescription;
    expect(push_topic).toMatch(TOPIC);
    expect((await fetch(`${apns.control}/lab/pushes`)).status).toBe(200);
    expect((await fetch(`${dep.portal}/requests`)).status).toBe(200);
    await app.halt();
    await expect(fetch(`${apns.control}/lab/pushes`)).rejects.toThrow('fetch failed');
    await expect(fetch(`${dep.portal}/requests`)).rejects.toThrow('fetch failed');
  });
});
