import { buildPlist } from '../../src/protocol/plist/plist.js';
import type { BenchDatabase } from './database.js';
import { udidOf, udidsOf } from './fleet.js';
import { acknowledged } from './messages.js';

const DEVICES = `
insert into devices (udid, platform, enrollment_state, is_enrolled, is_supervised)
select udid, 'macOS', 'enrolled', true, true from unnest($1::text[]) as udid`;

const REPORTS = `
insert into commands (uuid, device_id, request_type, payload, status, sent_at, acknowledged_at,
  reason, result)
select gen_random_uuid(), d.id, 'DeviceInformation', $3, 'Acknowledged', now(), now(), 'not released', r.result
from unnest($1::text[], $2::bytea[]) as r (udid, result) join devices d on d.udid = r.udid
order by d.id`;

const PAYLOAD = buildPlist({
  Command: { RequestType: 'DeviceInformation', Queries: ['OSVersion'] },
});
const AT_ONCE = 1_000;

/** Enrolled devices that no message was sent for. */
export async function addDevices({ db }: BenchDatabase, count: number): Promise<void> {
  await db.pool.query(DEVICES, [udidsOf(count)]);
}

/** One answer to DeviceInformation of each device, stored but not yet released. */
export async function storeReports({ db }: BenchDatabase, count: number): Promise<void> {
  for (let start = 0; start < count; start += AT_ONCE) {
    const length = Math.min(AT_ONCE, count - start);
    const udids = Array.from({ length }, (_, offset) => udidOf(start + offset));
    const results = udids.map((udid) => buildPlist(acknowledged(udid, udid)));
    await db.pool.query(REPORTS, [udids, results, PAYLOAD]);
  }
}

/** Marks all of them as waiting for their handler at once. */
export async function releaseReports({ db }: BenchDatabase): Promise<void> {
  await db.pool.query(
    'update commands set needs_handling = true, reason = null where reason is not null',
  );
  await db.pool.query('vacuum (analyze) commands, devices');
  await db.pool.query('checkpoint');
}
