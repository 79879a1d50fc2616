import { randomBytes, randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import request from 'supertest';
import { CommandQueue } from '../../src/commands/queue.js';
import { inTransaction } from '../../src/db/connection/unit-of-work.js';
import { secretLabel } from '../../src/db/devices/device-repository.js';
import { type ApnsStandIn, startApnsStandIn } from '../../src/lab/apns/apns-stand-in.js';
import {
  createLabAuthority,
  issuePushCertificate,
  type LabAuthority,
  privateKeyPem,
} from '../../src/lab/pki/lab-authority.js';
import { ADMIN_TOKEN, adminApi, startApp, type TestApp } from '../helpers/app.js';
import { removeTemporaryDirectories, temporaryDirectory } from '../helpers/temporary-directory.js';
import { valuesOf } from '../metrics/exposition.js';
import { certificatePem } from '../resources/certificate-samples.js';
import { eventually, TOPIC } from './push-fixture.js';

const WARN = 40;

let authority: LabAuthority;
let standIn: ApnsStandIn;
let app: TestApp;

beforeAll(async () => {
  authority = await createLabAuthority();
  standIn = await startApnsStandIn({ authority });
});
afterEach(() => app.stop());
afterAll(async () => {
  await standIn.close();
  removeTemporaryDirectories();
});

async function addCertificate(): Promise<void> {
  const issued = await issuePushCertificate(authority, { topic: TOPIC });
  const attributes = {
    pem_certificate: certificatePem(issued.certificate),
    pem_private_key: privateKeyPem(issued),
  };
  const data = { type: 'certificates', attributes };
  expect((await adminApi(app).post('/push_certificates', { data })).status).toBe(201);
}

/** Enrolled, with a queued command. */
async function addDevice(): Promise<number> {
  const { db, box } = app;
  const row = { is_enrolled: true, enrollment_state: 'enrolled', topic: TOPIC, push_state: 'ok' };
  const [{ id }] = await db.knex('devices').insert({ ...row, udid: randomUUID() }, 'id');
  const push = { token: randomBytes(32).toString('hex'), push_magic: randomUUID() };
  const sealed_push = box.seal(Buffer.from(JSON.stringify(push)), secretLabel(id, 'push'));
  await db.knex('devices').where({ id }).update({ sealed_push });
  const command = { requestType: 'ProfileList', parameters: {}, options: {} };
  await inTransaction(db, (trx) => new CommandQueue(box).add(trx, id, command));
  return id;
}

async function unreachable(): Promise<string[]> {
  const { body } = await adminApi(app).get('/credentials');
  const { warnings } = body.data.attributes as {
    warnings: { code: string; detail: string }[];
  };
  return warnings
    .filter(({ code }) => code === 'push_service_unreachable')
    .map(({ detail }) => detail);
}

async function reachable(): Promise<Record<string, number>> {
  const { text } = await request(app.app)
    .get('/metrics')
    .set('Authorization', `Bearer ${ADMIN_TOKEN}`);
  return valuesOf(text, 'muster_push_service_reachable');
}

/** A port of this machine without a listener. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe('a push service that cannot be reached', () => {
  it('is shown in /credentials, /health and the metrics, and logged once', async () => {
    const port = await freePort();
    app = await startApp({ env: { APNS_HOST: `http://127.0.0.1:${port}` } });
    await addCertificate();
    expect([await unreachable(), await reachable()]).toEqual([[], { '': 1 }]);
    const id = await addDevice();
    const why = `the push service at 127.0.0.1:${port} cannot be reached (ECONNREFUSED)`;
    await eventually(async () => {
      const [detail, ...others] = await unreachable();
      expect(others).toEqual([]);
      expect(detail).toMatch(new RegExp(`^http://127\\.0\\.0\\.1:${port} cannot be reached from `));
      expect(detail).toContain(why);
    });
    expect(await reachable()).toEqual({ '': 0 });

    app.logLines.length = 0;
    const reply = await adminApi(app).post(`/devices/${id}/push`);
    const [{ code, detail }] = reply.body.errors;
    expect([reply.status, code, detail]).toEqual([503, 'push_service_unreachable', why]);
    const logged = app.logLines.filter(({ level }) => level >= WARN);
    expect(logged).toMatchObject([{ level: WARN, msg: 'admin request failed', why }]);
    expect(JSON.stringify(logged)).not.toContain('    at ');
  });

  it('is shown with the reason when its certificate is not trusted', async () => {
    app = await startApp({ env: { APNS_HOST: standIn.url } });
    await addCertificate();
    const id = await addDevice();
    const reason = /not trusted here \(\w+\); APNS_CA_FILE names the CA/;
    await eventually(async () => {
      const [detail] = await unreachable();
      expect(detail).toMatch(reason);
    });
    const { status, body } = await adminApi(app).post(`/devices/${id}/push`);
    expect(status).toBe(503);
    expect(body.errors[0].detail).toMatch(reason);
  });

  it('is no longer shown once it can be reached again', async () => {
    const APNS_CA_FILE = join(temporaryDirectory(), 'ca.pem');
    writeFileSync(APNS_CA_FILE, standIn.caPem);
    standIn.refuseConnections('connection');
    app = await startApp({ env: { APNS_HOST: standIn.url, APNS_CA_FILE } });
    await addCertificate();
    await addDevice();
    await eventually(async () => expect(await unreachable()).toHaveLength(1));
    expect(await reachable()).toEqual({ '': 0 });
    standIn.refuseConnections(null);
    await eventually(async () => {
      expect([await unreachable(), await reachable()]).toEqual([[], { '': 1 }]);
    });
  });
});
