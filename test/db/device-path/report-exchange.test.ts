import { randomBytes, randomUUID } from 'node:crypto';
import {
  type IncomingReport,
  ReportExchange,
} from '../../../src/db/device-path/report-exchange.js';
import { LAST_PRIORITY } from '../../../src/db/devices/command-repository.js';
import type { ReportStatus } from '../../../src/protocol/mdm/mdm-messages.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';

let test: TestDatabase;
let reports: ReportExchange;

beforeAll(async () => {
  test = await createTestDatabase();
  reports = new ReportExchange({ db: test.db, handledTypes: ['DeviceInformation'] });
});
afterAll(() => test.drop());

interface Device {
  id: number;
  udid: string;
  fingerprint: Buffer;
}

async function enrolledDevice(state = 'enrolled', pin = 'active'): Promise<Device> {
  const udid = randomUUID().toUpperCase();
  const fingerprint = randomBytes(32);
  const [row] = await test.db
    .knex('devices')
    .insert({ udid, enrollment_state: state, is_enrolled: state === 'enrolled' })
    .returning('id');
  await test.db
    .knex('device_identities')
    .insert({ fingerprint, device_id: row.id, state: pin, udid });
  return { id: row.id, udid, fingerprint };
}

async function queue(device: Device, columns: Record<string, unknown> = {}): Promise<string> {
  const uuid = randomUUID();
  await test.db.knex('commands').insert({
    uuid,
    device_id: device.id,
    request_type: 'ProfileList',
    payload: Buffer.from(`payload of ${uuid}`),
    ...columns,
  });
  return uuid;
}

function reportOf(
  device: Device,
  status: ReportStatus = 'Idle',
  uuid: string | null = null,
): IncomingReport {
  return {
    fingerprint: device.fingerprint,
    deviceKey: device.udid.toLowerCase(),
    status,
    commandUuid: uuid,
    errorChain: null,
    result: uuid === null ? null : Buffer.from(`${status} ${uuid}`),
  };
}

async function next(device: Device, status: ReportStatus = 'Idle', uuid: string | null = null) {
  const answer = await reports.exchange(reportOf(device, status, uuid));
  return answer.next?.uuid ?? null;
}

function command(uuid: string) {
  return test.db.knex('commands').where({ uuid }).first();
}

describe('the exchange statement', () => {
  it('returns and changes nothing for a certificate that is not pinned', async () => {
    const device = await enrolledDevice();
    const uuid = await queue(device);
    const outsider = { ...reportOf(device), fingerprint: randomBytes(32) };
    const answer = await reports.exchange(outsider);
    expect(answer).toEqual({
      pinState: null,
      deviceId: null,
      enrollmentState: null,
      isSameDevice: false,
      reported: null,
      next: null,
      isNextExhausted: false,
    });
    expect((await command(uuid)).status).toBe('Queued');
  });

  it('stores no report of one device for another', async () => {
    const victim = await enrolledDevice();
    const thief = await enrolledDevice();
    const uuid = await queue(victim);
    const asVictim = { ...reportOf(victim, 'Acknowledged', uuid), fingerprint: thief.fingerprint };
    expect(await reports.exchange(asVictim)).toMatchObject({
      deviceId: thief.id,
      isSameDevice: false,
      reported: null,
      next: null,
    });
    const own = await reports.exchange(reportOf(thief, 'Acknowledged', uuid));
    expect(own).toMatchObject({ isSameDevice: true, reported: null });
    expect(await command(uuid)).toMatchObject({ status: 'Queued', result: null });
  });

  it.each([
    ['authenticated', 'active'],
    ['unenrolled', 'active'],
    ['enrolled', 'superseded'],
  ])('sends nothing to a device that is %s with a pin that is %s', async (state, pin) => {
    const device = await enrolledDevice(state, pin);
    const uuid = await queue(device);
    expect(await next(device)).toBeNull();
    expect((await command(uuid)).status).toBe('Queued');
  });

  it('compares the UDID ignoring case', async () => {
    const device = await enrolledDevice();
    const uuid = await queue(device);
    expect(await next({ ...device, udid: device.udid.toLowerCase() })).toBe(uuid);
  });

  it('offers commands by priority, then in the order of queueing', async () => {
    const device = await enrolledDevice();
    const first = await queue(device);
    const second = await queue(device);
    const urgent = await queue(device, { priority: 5 });
    expect(await next(device)).toBe(urgent);
    expect(await next(device, 'Acknowledged', urgent)).toBe(first);
    expect(await next(device, 'Acknowledged', first)).toBe(second);
    expect(await next(device, 'Acknowledged', second)).toBeNull();
  });

  it('marks the command as sent and stores its report', async () => {
    const device = await enrolledDevice();
    const uuid = await queue(device, { request_type: 'DeviceInformation' });
    const offer = await reports.exchange(reportOf(device));
    expect(offer.next?.payload.toString()).toBe(`payload of ${uuid}`);
    expect(await command(uuid)).toMatchObject({ status: 'Sent', attempts: 1, ttl: 4 });
    const report = await reports.exchange(reportOf(device, 'Acknowledged', uuid));
    expect(report.reported).toMatchObject({
      requestType: 'DeviceInformation',
      needsHandling: true,
    });
    const row = await command(uuid);
    expect(row).toMatchObject({ status: 'Acknowledged', needs_handling: true });
    expect(row.result.toString()).toBe(`Acknowledged ${uuid}`);
    expect(row.acknowledged_at).toBeInstanceOf(Date);
  });

  it('stores the error chain and marks nothing for a handler after an error', async () => {
    const device = await enrolledDevice();
    const uuid = await queue(device, { request_type: 'DeviceInformation' });
    await next(device);
    const errorChain = JSON.stringify([{ ErrorCode: 12021, ErrorDomain: 'MCMDMErrorDomain' }]);
    await reports.exchange({ ...reportOf(device, 'Error', uuid), errorChain });
    expect(await command(uuid)).toMatchObject({
      status: 'Error',
      needs_handling: false,
      error_chain: [{ ErrorCode: 12021, ErrorDomain: 'MCMDMErrorDomain' }],
    });
  });

  it.each<ReportStatus>(['Acknowledged', 'Error', 'CommandFormatError', 'NotNow'])(
    'skips every NotNow command until the next Idle, also after %s',
    async (status) => {
      const device = await enrolledDevice();
      const [first, second, third] = [
        await queue(device),
        await queue(device),
        await queue(device),
      ];
      expect(await next(device)).toBe(first);
      expect(await next(device, 'NotNow', first)).toBe(second);
      expect(await next(device, status, second)).toBe(third);
      expect(await next(device, status, third)).toBeNull();
      expect(await next(device)).toBe(first);
    },
  );

  it('offers a command of the last priority only when no command is NotNow', async () => {
    const device = await enrolledDevice();
    const first = await queue(device);
    const second = await queue(device);
    const last = await queue(device, { priority: LAST_PRIORITY });
    expect(await next(device)).toBe(first);
    expect(await next(device, 'NotNow', first)).toBe(second);
    expect(await next(device, 'Acknowledged', second)).toBeNull();
    expect(await next(device)).toBe(first);
    expect(await next(device, 'Acknowledged', first)).toBe(last);
  });

  it('restores the offer on NotNow', async () => {
    const device = await enrolledDevice();
    const uuid = await queue(device, { ttl: 1 });
    for (let round = 0; round < 3; round += 1) {
      expect(await next(device)).toBe(uuid);
      expect((await command(uuid)).ttl).toBe(0);
      expect(await next(device, 'NotNow', uuid)).toBeNull();
      expect((await command(uuid)).ttl).toBe(1);
    }
  });

  it('offers an unanswered command again until it has no offers left', async () => {
    const device = await enrolledDevice();
    const uuid = await queue(device, { ttl: 2 });
    expect(await next(device)).toBe(uuid);
    expect(await next(device)).toBe(uuid);
    const answer = await reports.exchange(reportOf(device));
    expect(answer).toMatchObject({ next: null, isNextExhausted: true });
    expect(await command(uuid)).toMatchObject({ status: 'Sent', attempts: 2, ttl: 0 });
  });

  it('skips commands that are not due yet and expired ones', async () => {
    const device = await enrolledDevice();
    const hour = 3_600_000;
    await queue(device, { after: new Date(Date.now() + hour) });
    await queue(device, { expires_at: new Date(Date.now() - hour) });
    const due = await queue(device, { after: new Date(Date.now() - hour) });
    expect(await next(device)).toBe(due);
    expect(await next(device, 'Acknowledged', due)).toBeNull();
  });

  it('changes nothing when the same report comes twice', async () => {
    const device = await enrolledDevice();
    const uuid = await queue(device);
    await next(device);
    await next(device, 'Acknowledged', uuid);
    const before = await command(uuid);
    const replayed = await reports.exchange(reportOf(device, 'NotNow', uuid));
    expect(replayed.reported).toBeNull();
    expect(await command(uuid)).toEqual(before);
  });

  it('accepts the report of a command that was cancelled after it was sent', async () => {
    const device = await enrolledDevice();
    const sent = await queue(device);
    await next(device);
    const never = await queue(device);
    const cancelled = { status: 'Cancelled', reason: 'by an administrator' };
    await test.db.knex('commands').whereIn('uuid', [sent, never]).update(cancelled);
    await next(device, 'Acknowledged', sent);
    await next(device, 'Acknowledged', never);
    expect(await command(sent)).toMatchObject({ status: 'Acknowledged', reason: null });
    expect((await command(never)).status).toBe('Cancelled');
  });

  it('stores a report too large for a batch', async () => {
    const device = await enrolledDevice();
    const uuid = await queue(device);
    await next(device);
    const result = randomBytes(300_000);
    await reports.exchange({ ...reportOf(device, 'Acknowledged', uuid), result });
    expect((await command(uuid)).result.equals(result)).toBe(true);
  });

  it('sends each of many devices at once its own command', async () => {
    const devices = await Promise.all(Array.from({ length: 40 }, () => enrolledDevice()));
    const uuids = await Promise.all(devices.map((device) => queue(device)));
    expect(await Promise.all(devices.map((device) => next(device)))).toEqual(uuids);
    const reports = devices.map((device, index) =>
      next(device, 'Acknowledged', uuids[index] ?? null),
    );
    expect(await Promise.all(reports)).toEqual(devices.map(() => null));
    const rows = await test.db.knex('commands').whereIn('uuid', uuids).distinct('status');
    expect(rows).toEqual([{ status: 'Acknowledged' }]);
  });
});
