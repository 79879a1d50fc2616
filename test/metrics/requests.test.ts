import { LRUCache } from 'lru-cache';
import { CommandQueue } from '../../src/commands/queue.js';
import { HANDLED_TYPES } from '../../src/commands/registry.js';
import { ProfileRenderer } from '../../src/commands/rendered-profile.js';
import { ReportWorker } from '../../src/commands/reports/report-worker.js';
import { CheckIns } from '../../src/db/device-path/check-ins.js';
import { LastSeen } from '../../src/db/device-path/last-seen.js';
import { ReportExchange } from '../../src/db/device-path/report-exchange.js';
import { BodyReader } from '../../src/http/bodies/body-reader.js';
import { createProxyTrust } from '../../src/http/requests/trust-proxy.js';
import { drain, listen } from '../../src/http/server/listen.js';
import { createHttpServer } from '../../src/http/server/server.js';
import { createDeviceHandler } from '../../src/mdm/handler.js';
import type { MdmServices } from '../../src/mdm/services.js';
import { createMetrics, type Metrics } from '../../src/metrics/metrics.js';
import { FileVaultKey } from '../../src/pki/credentials/filevault-key.js';
import { createTrust } from '../../src/pki/trust/trust.js';
import { SignerCache } from '../../src/protocol/mdm/signer-cache.js';
import { ThreadPool } from '../../src/threads/thread-pool.js';
import { messageThreads, renderThreads, reportThreads } from '../../src/threads/thread-uses.js';
import { ADMIN_TOKEN, startApp, type TestApp } from '../helpers/app.js';
import { createTestDevice, type TestDevice } from '../helpers/device.js';
import { capturingLogger } from '../http/log-lines.js';
import { parseExposition, valuesOf } from './exposition.js';

let app: TestApp;
let device: TestDevice;
let metrics: Metrics;
let url: string;
let close: () => Promise<unknown>;
const threads = new ThreadPool();

async function deviceHandlerOf({ db, box }: TestApp, onMessage: (type: string) => void) {
  const { logger } = capturingLogger();
  const services: MdmServices = {
    db,
    box,
    logger,
    checkIns: new CheckIns(db),
    trust: await createTrust({ db }),
    profiles: new ProfileRenderer({
      box,
      sign: (profile) => Promise.resolve(profile),
      ...renderThreads(threads),
    }),
    reportExchange: new ReportExchange({ db, handledTypes: HANDLED_TYPES }),
    recentAuthenticates: new LRUCache({ max: 10 }),
    lastSeen: new LastSeen(db, () => {}),
    reports: new ReportWorker({
      db,
      box,
      queue: new CommandQueue(box),
      recipient: new FileVaultKey(box),
      logger,
      ...reportThreads(threads),
    }),
    ...messageThreads(threads, logger),
    signers: new SignerCache(),
    bodies: new BodyReader({ proxies: createProxyTrust([]), logger }),
    userAuthenticate: 'refuse',
  };
  return createDeviceHandler(services, onMessage);
}

/** The whole server, with its requests observed. */
beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  const { logger } = capturingLogger();
  metrics = createMetrics({
    db: app.db,
    logger,
    version: '1.2.3',
    role: 'all',
    config: { backupEvery: undefined },
  });
  const deviceHandler = await deviceHandlerOf(app, metrics.countMessage);
  const onAnswer = metrics.observeRequest;
  const server = createHttpServer({ app: app.app, deviceHandler, logger, onAnswer });
  const { port } = await listen(server, { port: 0, host: '127.0.0.1' });
  url = `http://127.0.0.1:${port}`;
  close = () => drain(server, 1_000);
  device = await createTestDevice({ ...app, url });
});
afterAll(async () => {
  await close();
  await threads.close();
  await app.stop();
});

function get(path: string, token?: string): Promise<Response> {
  const headers: Record<string, string> = token ? { Authorization: `Bearer ${token}` } : {};
  return fetch(url + path, { headers });
}

/** A response is sent a moment before it is counted. */
async function countsOf(total: number): Promise<Record<string, number>> {
  for (let attempt = 0; attempt < 500; attempt += 1) {
    const text = await metrics.text();
    const counts = valuesOf(text, 'muster_http_request_duration_seconds_count');
    if (Object.values(counts).reduce((sum, count) => sum + count, 0) >= total) return counts;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`never counted ${total} requests`);
}

describe('requests to a whole server', () => {
  it('are counted by surface and status, and add no other labels', async () => {
    await device.enroll();
    await device.idle();
    await device.send({ Status: 'Idle', UDID: 'ANOTHER-UDID' });
    await device.send(Buffer.from('no plist'), { path: '/checkin', signature: null });
    await get('/api/v1/devices?filter[udid]=secret-filter', ADMIN_TOKEN);
    await get('/api/v1/devices/7', 'secret-token-1');
    await get('/api/v1/secret-path');
    await get('/scep?operation=GetCACaps&message=secret');
    await get('/enroll/profile');
    await get('/healthz');
    await get('/secret-path/wp-login.php');
    expect(await countsOf(12)).toEqual({
      '200 mdm': 3,
      '403 mdm': 1,
      '400 checkin': 1,
      '200 api': 1,
      '401 api': 2,
      '200 scep': 1,
      '200 enroll': 1,
      '200 health': 1,
      '404 other': 1,
    });
    const text = await metrics.text();
    // Also the one that was refused as another's; what can't be read is no message.
    expect(valuesOf(text, 'muster_mdm_messages_total')).toEqual({
      Authenticate: 1,
      TokenUpdate: 1,
      Idle: 2,
    });
    expect(text).not.toMatch(/secret/i);
    for (const hidden of [device.udid, device.pushMagic, 'ANOTHER-UDID', ADMIN_TOKEN, '127.0.0']) {
      expect(text).not.toContain(hidden);
    }
    const labels = new Set<string>();
    for (const [name, { samples }] of parseExposition(text)) {
      const names = name.startsWith('muster_') ? samples.flatMap((s) => Object.keys(s.labels)) : [];
      // Credentials are few, and shown with their ids; devices never are.
      const isOfCredentials = name === 'muster_credential_expiry_timestamp_seconds';
      for (const label of names) if (!(isOfCredentials && label === 'id')) labels.add(label);
    }
    const known = ['le', 'surface', 'status', 'type', 'result', 'topic', 'role', 'kind', 'name'];
    const ofFleet = ['enrollment_state', 'platform', 'os_major', 'push_state', 'health'];
    const allowed = [...known, ...ofFleet, 'task', 'outcome', 'pool', 'state', 'version'];
    expect([...labels].filter((label) => !allowed.includes(label))).toEqual([]);
  });
});
