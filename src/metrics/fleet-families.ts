import type { CountedFleet, StateCount } from '../db/admin/fleet-repository.js';
import { type Family, type Sample, sums } from './family.js';

export interface FleetPart {
  /** Undefined before the first count. */
  fleet: CountedFleet | undefined;
}

/** More versions than Apple has in use; what devices report beyond it is added up. */
const MAX_MAJORS = 40;
const PUSH_STATES = ['ok', 'unregistered', 'bad_token', 'topic_mismatch', 'none'];
const HEALTH = ['ok', 'attention', 'stuck'];
const ITEM_STATES = [
  ...['pending', 'installed', 'verified', 'failed', 'removing', 'not_applicable', 'conflict'],
  ...['waiting_for_user', 'paused'],
];

/** Gauges of the fleet: the same in every process, counted once a minute for all of them. */
export const FLEET_FAMILIES: Family<FleetPart>[] = [
  {
    name: 'muster_devices',
    help:
      'Devices by enrollment state (none: known from a list only) and platform. Counted once a minute ' +
      'for all processes: take the maximum over them.',
    labelNames: ['enrollment_state', 'platform'],
    samples: ({ fleet }) =>
      sums(
        fleet?.devices ?? [],
        ({ enrollmentState: enrollment_state, platform }) => ({ enrollment_state, platform }),
        ({ count }) => count,
      ),
  },
  {
    name: 'muster_enrolled_devices',
    help: 'Enrolled devices by platform and major version of the system, as they last reported it.',
    labelNames: ['platform', 'os_major'],
    samples: ({ fleet }) => versionSamples(fleet),
  },
  {
    name: 'muster_device_push_states',
    help:
      'Enrolled devices by push state (none: no token yet). Anything but ok for long: see ' +
      '/api/v1/devices?filter[push_state]=unregistered.',
    labelNames: ['push_state'],
    samples: ({ fleet }) => {
      const enrolled = fleet?.devices.filter(({ isEnrolled }) => isEnrolled);
      const rows = enrolled?.map(({ pushState, count }) => ({ state: pushState, count }));
      return stateSamples(rows, PUSH_STATES, 'push_state');
    },
  },
  {
    name: 'muster_device_health',
    help: 'Devices by health. stuck: somebody has to act, see /api/v1/devices?filter[health]=stuck.',
    labelNames: ['health'],
    samples: ({ fleet }) => stateSamples(fleet?.health, HEALTH, 'health'),
  },
  {
    name: 'muster_items',
    help:
      'Assigned profiles on devices by state. failed or conflict that rise: see ' +
      '/api/v1/profiles/{id}/status.',
    labelNames: ['state'],
    samples: ({ fleet }) => stateSamples(fleet?.items, ITEM_STATES, 'state'),
  },
  {
    name: 'muster_fleet_counted_timestamp_seconds',
    help: 'When devices and items were counted (Unix time). Older than some minutes: counting fails.',
    labelNames: [],
    samples: ({ fleet }) => (fleet ? [[{}, fleet.countedAt.getTime() / 1000]] : []),
  },
];

/** A known state without rows is 0; states of later versions are shown too. */
function stateSamples(
  rows: readonly StateCount[] | undefined,
  known: readonly string[],
  label: string,
): Sample[] {
  if (rows === undefined) return [];
  const all = [...known.map((state) => ({ state, count: 0 })), ...rows];
  return sums(
    all,
    ({ state }) => ({ [label]: state }),
    ({ count }) => count,
  );
}

function versionSamples(fleet: CountedFleet | undefined): Sample[] {
  const enrolled = fleet?.devices.filter(({ isEnrolled }) => isEnrolled) ?? [];
  // The rows come with the most frequent first.
  const majors = [...new Set(enrolled.map(({ osMajor }) => osMajor))].slice(0, MAX_MAJORS);
  return sums(
    enrolled,
    ({ platform, osMajor }) => {
      return { platform, os_major: majors.includes(osMajor) ? osMajor : 'other' };
    },
    ({ count }) => count,
  );
}
