import { APPLICATION_CATALOG } from '../../src/lab/devices/application-catalog.js';
import type { Random } from '../../src/lab/devices/random.js';
import type { CopySource, CopyValue } from './copy-rows.js';

const CATALOG = [
  ...APPLICATION_CATALOG.iOS.map((application) => ({ ...application, isMobile: true })),
  ...APPLICATION_CATALOG.macOS.map((application) => ({ ...application, isMobile: false })),
];

/** Share of the applications of an iPhone that have it. A Mac reports none of these. */
const MOBILE_FLAGS = {
  is_managed: 0.3,
  is_validated: 0.98,
  adhoc_codesigned: 0.01,
  appstore_vendable: 0.9,
  beta_app: 0.005,
  device_based_vpp: 0.2,
  has_update_available: 0.1,
  is_app_clip: 0.005,
  installing: 0.002,
  download_failed: 0.001,
  download_cancelled: 0.001,
  download_paused: 0.001,
  download_waiting: 0.001,
};

const APPLICATION_COLUMNS = [
  'device_id',
  'bundle_identifier',
  'name',
  'short_version',
  'version',
  'bundle_size',
  ...Object.keys(MOBILE_FLAGS),
];

export function applicationSource(
  random: Random,
  { devices, perDevice }: { devices: number; perDevice: number },
): CopySource {
  return {
    table: 'installed_applications',
    columns: APPLICATION_COLUMNS,
    total: devices * perDevice,
    rows: applicationRows(random, devices, perDevice),
  };
}

export function tagSource(count: number): CopySource {
  return { table: 'tags', columns: ['id', 'name', 'color'], total: count, rows: tagRows(count) };
}

interface TagCounts {
  devices: number;
  tags: number;
  perDevice: number;
}

export function deviceTagSource(random: Random, counts: TagCounts): CopySource {
  return {
    table: 'device_tags',
    columns: ['device_id', 'tag_id'],
    total: counts.devices * Math.min(counts.perDevice, counts.tags),
    rows: deviceTagRows(random, counts),
  };
}

function* applicationRows(
  random: Random,
  devices: number,
  perDevice: number,
): Iterable<CopyValue[]> {
  for (let deviceId = 1; deviceId <= devices; deviceId += 1) {
    for (let n = 0; n < perDevice; n += 1) {
      // The head of the catalog is on nearly every device, its tail on few.
      const rank = Math.floor(random.fraction() ** 2 * CATALOG.length);
      const { identifier, name, isMobile } = CATALOG[rank] ?? { name: 'Unknown', isMobile: true };
      const short = `${random.integer(1, 20)}.${random.integer(0, 9)}`;
      const size = random.integer(1, 500) * 1_000_000;
      const flags = Object.values(MOBILE_FLAGS).map((share) =>
        isMobile ? random.chance(share) : null,
      );
      yield [deviceId, identifier, name, short, `${short}.1`, size, ...flags];
    }
  }
}

function* tagRows(count: number): Iterable<CopyValue[]> {
  for (let id = 1; id <= count; id += 1) {
    const color = ((id * 7919) % 0xff_ff_ff).toString(16).padStart(6, '0');
    yield [id, `tag-${String(id).padStart(4, '0')}`, color];
  }
}

function* deviceTagRows(random: Random, counts: TagCounts): Iterable<CopyValue[]> {
  const { devices, tags, perDevice } = counts;
  for (let deviceId = 1; deviceId <= devices; deviceId += 1) {
    const chosen = new Set<number>();
    // A few tags are on thousands of devices, most on a hundred.
    while (chosen.size < Math.min(perDevice, tags)) {
      chosen.add(1 + Math.floor(random.fraction() ** 2 * tags));
    }
    for (const tag of chosen) yield [deviceId, tag];
  }
}
