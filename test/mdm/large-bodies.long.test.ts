import { randomBytes, randomUUID } from 'node:crypto';
import { deliver, enrolledTarget, type Target } from '../commands/deliver.js';
import { adminApi, commandDocument, startApp, type TestApp } from '../helpers/app.js';
import { commandIn, type TestDevice } from '../helpers/device.js';
import { LARGE_KINDS, largeMessage, laughs, wideKeys } from '../helpers/large-plists.js';
import { longestTurnBelow } from '../helpers/loop-busy.js';

const MB = 1024 * 1024;
const LARGEST = 8 * MB;
/** The server's 20 ms, and the time that this process takes to send 8 MB. */
const MAX_TURN_MS = 100;

let app: TestApp;
let target: Target;

beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.stop());
beforeEach(async () => {
  target = await enrolledTarget(app);
});

function idle({ udid }: TestDevice, markup: string): Buffer {
  return largeMessage({ Status: 'Idle', UDID: udid }, ['More', markup]);
}

async function queued(requestType: string): Promise<string> {
  const { device, id } = target;
  await adminApi(app).post('/commands', commandDocument(id, requestType));
  return commandIn(await device.idle())?.uuid ?? '';
}

function stored(uuid: string) {
  return app.db.knex('commands').where({ uuid }).first();
}

const APPLICATION = (at: number) =>
  `<dict><key>Identifier</key><string>com.example.app${at}</string><key>Name</key>` +
  `<string>Application ${at} &amp; more</string><key>BundleSize</key><integer>${at}</integer></dict>`;

function applications(count: number): string {
  return `<array>${Array.from({ length: count }, (_, at) => APPLICATION(at)).join('')}</array>`;
}

/** Of random bytes: no certificates, but rows all the same. */
function certificates(count: number, bytes: number): string {
  const entry = () =>
    `<dict><key>Data</key><data>${randomBytes(bytes).toString('base64')}</data></dict>`;
  return `<array>${Array.from({ length: count }, entry).join('')}</array>`;
}

/** Milliseconds for which a report with `markup` under its request type held up the event loop. */
function turnOfReport(requestType: string, markup: string): Promise<number> {
  const { device } = target;
  return longestTurnBelow(MAX_TURN_MS, async () => {
    const CommandUUID = await queued(requestType);
    const body = largeMessage({ Status: 'Acknowledged', UDID: device.udid, CommandUUID }, [
      requestType,
      markup,
    ]);
    const signature = device.sign(body);
    return async () => {
      expect((await device.send(body, { signature })).status).toBe(200);
      await app.waitForReports();
    };
  });
}

describe('a large message of a device', () => {
  it.each(['CDATA sections', 'dates', 'small data', 'deep arrays', 'keys'])(
    'does not hold up the event loop with %s',
    async (kind) => {
      const { device } = target;
      const body = idle(device, LARGE_KINDS[kind]?.(LARGEST - 1000) ?? '');
      const signature = device.sign(body);
      await device.send(idle(device, LARGE_KINDS.applications?.(MB) ?? '')); // starts the thread
      const statuses: number[] = [];
      const turn = await longestTurnBelow(MAX_TURN_MS, async () => async () => {
        statuses.push((await device.send(body, { signature })).status);
      });
      expect([[200], [400]]).toContainEqual([...new Set(statuses)]);
      // Sending 8 MB takes this process some time as well, and the machine may be busy.
      expect(turn).toBeLessThan(MAX_TURN_MS);
    },
  );

  it('is answered 400 when it is a binary document that expands without end', async () => {
    for (const body of [laughs(7), wideKeys(20_000, 20_000)]) {
      expect((await target.device.send(body)).status).toBe(400);
    }
  });

  it('is stored as it came, and the next command is the answer', async () => {
    const { device } = target;
    const uuid = await queued('ManagedMediaList');
    await adminApi(app).post('/commands', commandDocument(target.id, 'SecurityInfo'));
    const body = largeMessage({ Status: 'Acknowledged', UDID: device.udid, CommandUUID: uuid }, [
      'ManagedMediaList',
      `<string>${'é\r\n'.repeat(400_000)}</string>`,
    ]);
    const reply = await device.send(body);
    expect(commandIn(reply)?.command.RequestType).toBe('SecurityInfo');
    const { result, status } = await stored(uuid);
    expect(status).toBe('Acknowledged');
    expect(result.equals(body)).toBe(true);
  });

  it('is sealed when it holds a secret', async () => {
    const { device } = target;
    const uuid = await queued('SecurityInfo');
    const secret = `<dict><key>UnlockToken</key><string>${'s'.repeat(MB)}</string></dict>`;
    const body = largeMessage({ Status: 'Acknowledged', UDID: device.udid, CommandUUID: uuid }, [
      'SecurityInfo',
      secret,
    ]);
    expect((await device.send(body)).status).toBe(200);
    const { result } = await stored(uuid);
    expect(result.subarray(0, 4).toString()).toBe('MSB1');
    await app.waitForReports();
    const shown = await adminApi(app).get(`/commands?filter[uuid]=${uuid}&fields[commands]=result`);
    expect(shown.body.data[0].attributes.result.SecurityInfo).toEqual({ UnlockToken: '********' });
  });

  it('keeps as many entries of its ErrorChain as fit into 64 KiB', async () => {
    const { device } = target;
    const uuid = await queued('SecurityInfo');
    const ErrorChain = Array.from({ length: 1_000 }, (_, ErrorCode) => ({
      ErrorCode,
      ErrorDomain: 'MCMDMErrorDomain',
      LocalizedDescription: 'x'.repeat(200),
    }));
    expect((await device.report(uuid, 'Error', { ErrorChain })).status).toBe(200);
    const { error_chain } = await stored(uuid);
    expect(error_chain.length).toBeGreaterThan(200);
    expect(error_chain).toEqual(ErrorChain.slice(0, error_chain.length));
    expect(JSON.stringify(error_chain).length).toBeLessThan(64 * 1024);
  });

  it('is refused as a check-in beyond 256 KiB, but for a status report', async () => {
    const { device } = target;
    const DeviceName = 'x'.repeat(300_000);
    expect((await device.checkIn('TokenUpdate', { DeviceName })).status).toBe(400);
    expect((await device.authenticate({ DeviceName })).status).toBe(413);
    const Data = Buffer.from(JSON.stringify({ StatusItems: { device: 'x'.repeat(300_000) } }));
    const fields = { Endpoint: 'status', Data };
    expect((await device.checkIn('DeclarativeManagement', fields)).status).toBe(200);
    expect(app.logLines).toContainEqual(
      expect.objectContaining({ msg: 'status report', items: ['device'] }),
    );
    const wrong = { Endpoint: 'status', Data: Buffer.from(`[${'1,'.repeat(100_000)}`) };
    expect((await device.checkIn('DeclarativeManagement', wrong)).status).toBe(400);
  });
});

describe('a large list', () => {
  it('becomes the inventory without blocking the event loop', async () => {
    const turn = await turnOfReport('InstalledApplicationList', applications(9_000));
    const rows = await app.db.knex('installed_applications').where({ device_id: target.id });
    expect(rows).toHaveLength(9_000);
    expect(rows).toContainEqual(
      expect.objectContaining({
        bundle_identifier: 'com.example.app8999',
        name: 'Application 8999 & more',
        bundle_size: 8_999,
      }),
    );
    expect(turn).toBeLessThan(MAX_TURN_MS);
  });

  it.each([
    ['InstalledApplicationList', applications(9_000).replaceAll('more', 'm'.repeat(700))],
    ['CertificateList', certificates(7_000, 850)],
    ['CertificateList', certificates(2, 3_000_000)],
    ['SecurityInfo', `<dict>${'<key>a</key><true/>'.repeat(200_000)}</dict>`],
    ['ManagedMediaList', LARGE_KINDS['small data']?.(LARGEST - 1000) ?? ''],
  ])(
    'is stored and read at 8 MB without blocking the event loop: %s',
    async (requestType, markup) => {
      expect(await turnOfReport(requestType, markup)).toBeLessThan(MAX_TURN_MS);
    },
  );

  it('with more than 10,000 entries changes nothing, and the command says so', async () => {
    const before = [{ Identifier: 'com.example.kept' }];
    const requestType = 'InstalledApplicationList';
    await deliver(app, target, { requestType, body: { InstalledApplicationList: before } });
    const entries = Array.from({ length: 10_001 }, () => ({ Identifier: 'com.example' }));
    const body = { InstalledApplicationList: entries };
    const uuid = await deliver(app, target, { requestType, body });
    expect(await stored(uuid)).toMatchObject({
      reason: 'the answer could not be read; see the log',
    });
    const rows = await app.db.knex('installed_applications').where({ device_id: target.id });
    expect(rows.map(({ bundle_identifier }) => bundle_identifier)).toEqual(['com.example.kept']);
  });

  it('is stored with 3,000 profiles of two payloads each', async () => {
    const PayloadContent = [{ PayloadIdentifier: 'a' }, { PayloadIdentifier: 'b' }];
    const ProfileList = Array.from({ length: 3_000 }, (_, at) => ({
      PayloadIdentifier: `com.example.${at}`,
      PayloadUUID: randomUUID(),
      PayloadContent,
    }));
    await deliver(app, target, { requestType: 'ProfileList', body: { ProfileList } });
    const profiles = app.db.knex('installed_profiles').where({ device_id: target.id });
    expect(await profiles.clone()).toHaveLength(3_000);
    const payloads = app.db.knex('installed_payloads');
    expect(
      await payloads.whereIn('installed_profile_id', profiles.clone().select('id')),
    ).toHaveLength(6_000);
  });
});

describe('a device that sends large messages without end', () => {
  it('is answered 503 with Retry-After after 64 MB, alone, and the log names it', async () => {
    const { device } = target;
    const other = await enrolledTarget(app);
    const body = idle(device, ' '.repeat(LARGEST - 1000).concat('<true/>'));
    const signature = device.sign(body);
    const replies = [];
    for (let sent = 0; sent < 9; sent++) replies.push(await device.send(body, { signature }));
    expect(replies.map(({ status }) => status)).toEqual([...Array(8).fill(200), 503]);
    expect(replies.at(-1)?.headers.get('retry-after')).toBe('30');
    expect(app.logLines).toContainEqual(
      expect.objectContaining({
        device: device.udid,
        msg: expect.stringContaining('revoke its certificate'),
      }),
    );
    expect((await device.idle()).status).toBe(200);
    const large = idle(other.device, `<string>${'x'.repeat(MB)}</string>`);
    expect((await other.device.send(large)).status).toBe(200);
  });
});
