import express, { type Express } from 'express';
import request from 'supertest';
import { mountRoutes } from '../../../src/api/api-route.js';
import { devicePushRoutes } from '../../../src/api/devices/device-push.js';
import { ResourceStore } from '../../../src/db/store/resource-store.js';
import { writeAudit } from '../../../src/events/audit.js';
import { jsonApiErrorHandler } from '../../../src/http/errors/json-api-errors.js';
import type { RequestContext, Role } from '../../../src/jsonapi/context.js';
import { buildApiContext } from '../../../src/jsonapi/router.js';
import { createLogger } from '../../../src/logger.js';
import type { PushService } from '../../../src/push/push-service.js';
import { createResourceServices } from '../../../src/server/resource-services.js';
import {
  eventually,
  type PushFixture,
  startPushFixture,
  type TestTarget,
  TOPIC,
} from '../../push/push-fixture.js';

let fixture: PushFixture;
let app: Express;

beforeAll(async () => {
  fixture = await startPushFixture();
  await fixture.addCertificate();
});
beforeEach(() => {
  // As in a process that only serves: pushes by hand go out from there all the same.
  app = createApp(fixture.start({ dispatches: false }).service);
});
afterEach(() => fixture.reset());
afterAll(() => fixture.stop());

function createApp(push: PushService): Express {
  const { db, box, queue } = fixture;
  const api = buildApiContext({
    definitions: [],
    store: new ResourceStore(db, Buffer.alloc(32)),
    audit: writeAudit,
    services: createResourceServices({ box, queue, publicUrl: 'https://mdm.example.com' }),
  });
  const app = express();
  app.use((req, res, next) => {
    const actor = { name: 'tester', role: (req.header('x-role') ?? 'operator') as Role };
    const context: RequestContext = { requestId: 'request-1', actor, sourceAddress: null };
    Object.assign(res.locals, { context, requestId: context.requestId });
    next();
  });
  app.use(mountRoutes(devicePushRoutes({ api, push })));
  app.use(jsonApiErrorHandler(createLogger('fatal')));
  return app;
}

function push({ id }: Pick<TestTarget, 'id'>, headers: Record<string, string> = {}) {
  return request(app).post(`/devices/${id}/push`).set(headers);
}

const audited = () =>
  fixture.db.knex('audit_events').where({ action: 'devices.push' }).orderBy('id');

async function refused(target: Pick<TestTarget, 'id'>): Promise<[number, string, string]> {
  const { status, body } = await push(target);
  const [{ code, detail }] = body.errors;
  return [status, code, detail];
}

describe('a push by hand', () => {
  it('is refused to viewers', async () => {
    const target = await fixture.device();
    expect((await push(target, { 'X-Role': 'viewer' })).status).toBe(403);
    expect(fixture.accepted(target)).toBe(0);
  });

  it('answers 404 without a device', async () => {
    expect((await refused({ id: 987_654 })).slice(0, 2)).toEqual([404, 'not_found']);
    expect((await request(app).post('/devices/x/push')).status).toBe(404);
  });

  it.each([
    ['is not enrolled', { is_enrolled: false }, /not enrolled/],
    ['has given no token', { sealed_push: null }, /token/],
  ])('is impossible for a device that %s', async (_, facts, words) => {
    const target = await fixture.device();
    await fixture.db.knex('devices').where({ id: target.id }).update(facts);
    const [status, code, detail] = await refused(target);
    expect([status, code]).toEqual([409, 'device_not_pushable']);
    expect(detail).toMatch(words);
  });

  it('reports that the topic has no push certificate', async () => {
    const topic = 'com.apple.mgmt.External.aaaaaaaa-0000-4000-8000-00000000000d';
    const [status, code, detail] = await refused(await fixture.device(topic));
    expect([status, code]).toEqual([409, 'no_push_certificate']);
    expect(detail).toContain('POST /api/v1/push_certificates');
    expect(detail).toContain(topic);
  });

  it('answers 503 while Apple cannot be reached, and shows that on the device', async () => {
    const target = await fixture.device();
    fixture.standIn.refuseConnections('connection');
    fixture.standIn.destroyConnections();
    const reply = await push(target);
    expect(reply.status).toBe(503);
    const [{ code, detail }] = reply.body.errors;
    expect(code).toBe('push_service_unreachable');
    const { host } = new URL(fixture.standIn.url);
    expect(detail.startsWith(`the push service at ${host} `)).toBe(true);
    expect(detail).not.toContain(target.token);
    expect(Number(reply.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect(await fixture.deviceRow(target)).toMatchObject({ last_push_result: 'unreachable' });
  });

  it("returns Apple's answer, stores it and leaves an audit line", async () => {
    const target = await fixture.device();
    const before = Date.now() - 1000;
    const reply = await push(target);
    expect(reply.status).toBe(200);
    expect(reply.headers['content-type']).toBe('application/vnd.api+json');
    const { apns_id, pushed_at, ...attributes } = reply.body.data.attributes;
    expect(attributes).toEqual({ status_code: 200, reason: null, timestamp: null, topic: TOPIC });
    const links = { self: `/api/v1/devices/${target.id}/push` };
    expect(reply.body).toEqual({
      data: { type: 'pushes', id: target.id, attributes: reply.body.data.attributes, links },
      links,
      jsonapi: { version: '1.0' },
    });
    expect(Date.parse(pushed_at)).toBeGreaterThan(before);
    expect(await fixture.deviceRow(target)).toMatchObject({
      last_apns_id: apns_id,
      last_push_result: 'delivered',
    });
    expect(fixture.accepted(target)).toBe(1);
    const lines = await audited().where({ target_id: String(target.id) });
    expect(lines).toMatchObject([
      { actor: 'tester', outcome: 'success', details: { status_code: 200, reason: null } },
    ]);
  });

  it('returns a refusal as an answer, too', async () => {
    const target = await fixture.device();
    const timestamp = Date.parse('2026-11-20T10:00:00Z');
    await fixture.db.knex('devices').where({ id: target.id }).update({ tokenupdate_at: null });
    fixture.standIn.addAnswer({ token: target.token, status: 410, timestamp });
    const reply = await push(target);
    expect(reply.status).toBe(200);
    expect(reply.body.data.attributes).toMatchObject({
      status_code: 410,
      reason: 'Unregistered',
      timestamp: '2026-11-20T10:00:00+00:00',
    });
    expect(await fixture.deviceRow(target)).toMatchObject({ push_state: 'unregistered' });
  });

  it('may be sent to a device whose token was refused, and makes it pushable again', async () => {
    const target = await fixture.device();
    await fixture.db
      .knex('devices')
      .where({ id: target.id })
      .update({ push_state: 'unregistered' });
    await fixture.queueCommand(target);
    expect(await fixture.pushRow(target)).toBeUndefined();
    expect((await push(target)).body.data.attributes.status_code).toBe(200);
    expect(await fixture.deviceRow(target)).toMatchObject({ push_state: 'ok' });
    expect((await fixture.pushRow(target))?.due_in).toBeGreaterThan(60);
  });

  it('blocks the topic when the certificate is refused, is sent despite a block, and ends it', async () => {
    const target = await fixture.device();
    fixture.standIn.addAnswer({ topic: TOPIC, status: 403, reason: 'BadCertificate', times: 1 });
    expect((await push(target)).body.data.attributes).toMatchObject({
      status_code: 403,
      reason: 'BadCertificate',
    });
    expect(await fixture.db.knex('push_topics')).toMatchObject([{ topic: TOPIC }]);
    expect((await push(target)).body.data.attributes.status_code).toBe(200);
    expect(await fixture.db.knex('push_topics')).toEqual([]);
  });

  it('repeats its first answer for the same Idempotency-Key, with one audit line', async () => {
    const target = await fixture.device();
    const headers = { 'Idempotency-Key': `push-${target.id}` };
    const first = await push(target, headers);
    const second = await push(target, headers);
    expect(second.body).toEqual(first.body);
    expect(second.headers['idempotency-replayed']).toBe('true');
    expect(await audited().where({ target_id: String(target.id) })).toHaveLength(1);
  });
});

describe('a process that only serves', () => {
  it('announces what is due and leaves the push to others', async () => {
    const target = await fixture.device();
    const process = fixture.start({ dispatches: false });
    await fixture.queueCommand(target);
    expect(process.changes.announced).toEqual(['pushes']);
    const worker = fixture.start();
    await worker.changes.notify('pushes');
    await eventually(() => expect(fixture.accepted(target)).toBe(1));
    expect(process.results).toEqual(new Map());
  });
});
