import { setTimeout } from 'node:timers/promises';
import type { Database } from '../connection/database.js';
import { select } from './metrics-repository.js';

export interface DeviceCount {
  /** None: the device is known from a list alone. */
  enrollmentState: string;
  platform: string;
  /** Up to the first dot of the version. */
  osMajor: string;
  pushState: string;
  isEnrolled: boolean;
  count: number;
}

export interface StateCount {
  state: string;
  count: number;
}

/** Counts of the whole fleet. */
export interface FleetFigures {
  devices: DeviceCount[];
  /** Counts of the devices that have a stored health. */
  health: StateCount[];
  items: StateCount[];
}

export interface CountedFleet extends FleetFigures {
  countedAt: Date;
}

/** A large fleet takes longer to count; former figures are returned meanwhile. */
const COUNT_WAIT_MS = 20;

/** Counted at most this often, and less often where counting takes longer than a twentieth of it. */
const PAUSE_SECONDS = 60;
const PAUSE_PER_DURATION = 20;

// Devices report the version: text that is not a number gets no label of its own. Knex reads each question mark
// as a binding.
const DEVICES = `
select coalesce(enrollment_state, 'none') as "enrollmentState",
  coalesce(platform, 'unknown') as platform,
  coalesce(substring(os_version from '^([1-9][0-9]{0,1})([.]|$)'), 'unknown') as "osMajor",
  coalesce(push_state, 'none') as "pushState",
  is_enrolled as "isEnrolled",
  count(*)::integer as count
from devices
group by 1, 2, 3, 4, 5
order by count desc
limit 2000`;

const HEALTH = `
select health as state, count(*)::integer as count
from device_health where health is not null group by health`;

const ITEMS = 'select state, count(*)::integer as count from device_items group by state';

const CLAIM = `
update fleet_figures set claimed_at = clock_timestamp()
where claimed_at is null or claimed_at < clock_timestamp() - greatest(
  ? * interval '1 second', ? * coalesce(duration, 0) * interval '1 millisecond')
returning id`;

/**
 * The counts that some process of this server has made; counts again if it is time. Former counts are not
 * kept waiting by that, and what fails meanwhile is passed to `onLateFailure`. Undefined while another process
 * makes the first count.
 */
export async function readFleet(
  db: Database,
  onLateFailure: (error: unknown) => void,
): Promise<CountedFleet | undefined> {
  const former = await storedFleet(db);
  const { rows } = await db.knex.raw<{ rows: unknown[] }>(CLAIM, [
    PAUSE_SECONDS,
    PAUSE_PER_DURATION,
  ]);
  if (rows.length === 0) return former;
  const counting = countFleet(db);
  if (former) {
    const counted = counting.then(() => true);
    if (!(await Promise.race([counted, setTimeout(COUNT_WAIT_MS, false)]))) {
      counted.catch(onLateFailure);
      return former;
    }
  }
  await counting;
  return await storedFleet(db);
}

async function storedFleet(db: Database): Promise<CountedFleet | undefined> {
  const row = await db
    .knex('fleet_figures')
    .whereNotNull('counted_at')
    .first<{ counted_at: Date; figures: FleetFigures } | undefined>('counted_at', 'figures');
  return row && { ...row.figures, countedAt: row.counted_at };
}

/** Counts the whole fleet and stores the figures. */
export async function countFleet(db: Database): Promise<void> {
  const started = performance.now();
  const duration = () => Math.round(performance.now() - started);
  try {
    const figures: FleetFigures = {
      devices: await select<DeviceCount>(db, DEVICES),
      health: await select<StateCount>(db, HEALTH),
      items: await select<StateCount>(db, ITEMS),
    };
    await db.knex('fleet_figures').update({
      figures: JSON.stringify(figures),
      counted_at: db.knex.fn.now(),
      duration: duration(),
    });
  } catch (error) {
    // What is too slow is not tried every minute.
    await db.knex('fleet_figures').update({ duration: duration() });
    throw error;
  }
}
