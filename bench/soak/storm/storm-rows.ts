import type pg from 'pg';

/** Every enrollment creates one of each of these; over the air, a second certificate, too. */
const COUNTS = `
select
  (select count(*) from devices)::int as devices,
  (select count(*) from devices where enrollment_state = 'enrolled')::int as enrolled,
  (select count(distinct udid) from devices)::int as udids,
  (select count(distinct serial_number) from devices)::int as serials,
  (select count(*) from devices where enrollment_number <> 1)::int as again,
  (select count(distinct device_id) from device_identities where state = 'active')::int as pinned,
  (select count(*) from device_identities where state = 'active')::int as pins,
  (select count(*) from former_enrollments)::int as former,
  (select count(*) from certificates where purpose = 'mdm.device')::int as certificates,
  (select count(*) from enrollment_requests)::int as requests,
  (select count(*) from enrollment_requests where enrolled_at is not null)::int as met`;

type Counts = Record<
  | 'devices'
  | 'enrolled'
  | 'udids'
  | 'serials'
  | 'again'
  | 'pinned'
  | 'pins'
  | 'former'
  | 'certificates'
  | 'requests'
  | 'met',
  number
>;

export interface StormExpectation {
  devices: number;
  /** How many of the devices enrolled over the air, and how many by automated enrollment (DEP). */
  overTheAir: number;
  automated: number;
}

/** Describes the rows that the storm should have left in the database and did not. */
export async function brokenRows(pool: pg.Pool, expected: StormExpectation): Promise<string[]> {
  const { rows } = await pool.query<Counts>(COUNTS);
  const found = rows[0];
  if (found === undefined) throw new Error('nothing was counted');
  const { devices, overTheAir, automated } = expected;
  const wanted: Counts = {
    devices,
    enrolled: devices,
    udids: devices,
    serials: devices,
    again: 0,
    pinned: devices,
    pins: devices,
    former: 0,
    certificates: devices + overTheAir,
    requests: overTheAir + automated,
    met: overTheAir + automated,
  };
  return Object.entries(wanted)
    .filter(([name, count]) => found[name as keyof Counts] !== count)
    .map(([name, count]) => `${found[name as keyof Counts]} ${name} in place of ${count}`);
}
