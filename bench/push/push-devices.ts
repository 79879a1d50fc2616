import type pg from 'pg';
import type { SecretBox } from '../../src/crypto/secrets/secret-box.js';
import { udidOf } from '../load/fleet.js';

/** Devices 1 to `count`, all of one topic. */
export interface PushFleet {
  count: number;
  topic: string;
}

const INSERT = `
insert into devices (id, udid, serial_number, device_name, platform, os_version, topic,
  enrollment_state, enrollment_type, enrollment_number, is_enrolled, enrolled_at, tokenupdate_at,
  push_state, sealed_push)
overriding system value
select id, udid, 'P' || lpad(id::text, 11, '0'), 'Pushed ' || id, 'iOS', '18.1', $4,
  'enrolled', 'device', 1, true, now(), now(), 'ok', sealed_push
from unnest($1::bigint[], $2::text[], $3::bytea[]) as device (id, udid, sealed_push)`;

const BATCH = 5_000;

const COMMAND = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0"><dict><key>Command</key><dict><key>RequestType</key>
<string>ManagedMediaList</string></dict><key>CommandUUID</key><string>UUID</string></dict></plist>`;

/** 32 bytes, as Apple's are, with the device's id at the end. */
export function tokenOf(id: number): string {
  return `c0ffee${id.toString(16).padStart(58, '0')}`;
}

export function magicOf(id: number): string {
  return `00000000-0000-4000-8000-${id.toString(16).padStart(12, '0')}`.toUpperCase();
}

/** Puts enrolled devices with sealed push tokens into an empty table. */
export async function fillPushDevices(
  pool: pg.Pool,
  box: SecretBox,
  { count, topic }: PushFleet,
): Promise<void> {
  for (let from = 1; from <= count; from += BATCH) {
    const length = Math.min(BATCH, count - from + 1);
    const ids = Array.from({ length }, (_, index) => from + index);
    const sealed = ids.map((id) => sealedPush(box, id));
    await pool.query(INSERT, [ids, ids.map(udidOf), sealed, topic]);
  }
  await pool.query(`select setval(pg_get_serial_sequence('devices', 'id'), $1)`, [count]);
  await pool.query('vacuum (analyze) devices');
}

/** One waiting command for each device, without a due push. */
export async function queueForAll(pool: pg.Pool): Promise<void> {
  await pool.query('truncate commands, device_pushes cascade');
  await pool.query({
    text: `insert into commands (uuid, device_id, request_type, payload)
      select c.uuid, d.id, 'ManagedMediaList',
        convert_to(replace($1, 'UUID', c.uuid::text), 'UTF8')
      from devices d cross join lateral (select gen_random_uuid() as uuid, d.id) c
      where d.is_enrolled order by d.id`,
    values: [COMMAND],
  });
  await pool.query('vacuum (analyze) commands');
  await pool.query('checkpoint');
}

/** Makes a push due for each device with a waiting command, and notifies the servers. */
export async function makeAllDue(pool: pg.Pool): Promise<void> {
  await pool.query(
    `with due as (
       insert into device_pushes (device_id, due_at) select distinct device_id, now() from commands
     )
     select pg_notify('muster', 'pushes')`,
  );
}

function sealedPush(box: SecretBox, id: number): Buffer {
  const json = JSON.stringify({ token: tokenOf(id), push_magic: magicOf(id) });
  return box.seal(Buffer.from(json, 'utf8'), `devices/${id}/push`);
}
