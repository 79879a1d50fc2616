import { createHash, randomUUID } from 'node:crypto';
import { OS_RELEASES } from '../../src/lab/devices/os-releases.js';
import type { Random } from '../../src/lab/devices/random.js';
import type { CopySource, CopyValue } from '../data/copy-rows.js';

const DAY_MS = 86_400_000;
/** No list parses it: certificates show their bytes only when asked for. */
const DER = `\\x${'30'.repeat(400)}`;
const ISSUER = 'CN=Muster Device CA,O=Example';

type RowOf = (id: number) => CopyValue[];

function source(table: string, columns: string[], { total, row }: { total: number; row: RowOf }) {
  function* rows(): Iterable<CopyValue[]> {
    for (let id = 1; id <= total; id += 1) yield row(id);
  }
  return { table, columns, total, rows: rows() } satisfies CopySource;
}

/** Days ago, most of them few. */
function timeAgo(random: Random, days: number): number {
  return Date.now() - days * DAY_MS * random.fraction() ** 2;
}

function iso(time: number): string {
  return new Date(time).toISOString();
}

function fingerprintOf(id: number): string {
  return `\\x${createHash('sha256').update(`identity ${id}`).digest('hex')}`;
}

/**
 * What a device has beside its own row and its applications: one row of each kind. `ca`: the fingerprint
 * of the CA of its identity.
 */
export function deviceRecords(random: Random, devices: number, ca: Buffer): CopySource[] {
  return [
    identities(random.fork('identities'), devices, ca),
    certificates(random.fork('certificates'), devices),
    installedCertificates(random.fork('installed_certificates'), devices),
    installedProfiles(random.fork('installed_profiles'), devices),
    deviceChanges(random.fork('device_changes'), devices),
    customAttributes(random.fork('custom_attributes'), devices),
  ];
}

function identities(random: Random, total: number, ca: Buffer): CopySource {
  const issuer = `\\x${ca.toString('hex')}`;
  const columns = 'fingerprint device_id state issuer not_after renew_at'.split(' ');
  const row: RowOf = (id) => {
    const end = Date.now() + random.integer(60, 365) * DAY_MS;
    const renewal = iso(end - 30 * DAY_MS);
    return [fingerprintOf(id), id, 'active', issuer, iso(end), renewal];
  };
  return source('device_identities', columns, { total, row });
}

function certificates(random: Random, total: number): CopySource {
  const columns = 'purpose der fingerprint subject issuer serial x509_cn not_before not_after';
  const row: RowOf = (id) => {
    const name = `Device ${randomUUID().toUpperCase()}`;
    const start = timeAgo(random, 300);
    const serial = random.text('0123456789abcdef', 32);
    const times = [iso(start), iso(start + 365 * DAY_MS)];
    return ['mdm.device', DER, fingerprintOf(id), `CN=${name}`, ISSUER, serial, name, ...times];
  };
  return source('certificates', columns.split(' '), { total, row });
}

function installedCertificates(random: Random, total: number): CopySource {
  const columns =
    'device_id x509_cn subject issuer serial not_before not_after is_identity is_managed';
  const row: RowOf = (id) => {
    const name = random.chance(0.7) ? 'Example Root CA' : `Wi-Fi ${id}`;
    const start = timeAgo(random, 900);
    const serial = random.text('0123456789abcdef', 16);
    const times = [iso(start), iso(start + 1000 * DAY_MS)];
    return [id, name, `CN=${name}`, 'CN=Example Root CA', serial, ...times, id % 3 === 0, true];
  };
  return source('installed_certificates', columns.split(' '), { total, row });
}

function installedProfiles(random: Random, total: number): CopySource {
  const columns =
    'device_id payload_identifier payload_display_name payload_uuid is_managed is_encrypted source';
  const row: RowOf = (id) => {
    const number = Math.floor(random.fraction() ** 2 * 200);
    const name = `Profile ${number}`;
    return [id, `com.example.profile${number}`, name, randomUUID(), true, false, null];
  };
  return source('installed_profiles', columns.split(' '), { total, row });
}

function deviceChanges(random: Random, total: number): CopySource {
  const columns = 'device_id kind attribute change old new cause changed_at';
  const versions = OS_RELEASES.iOS.map(({ version }) => version);
  const row: RowOf = (id) => {
    const attribute = random.pick(['os_version', 'battery_level', 'device_name']);
    const [before, after] = [random.pick(versions), random.pick(versions)];
    const at = iso(timeAgo(random, 90));
    return [id, 'attribute', attribute, 'changed', before, after, 'report', at];
  };
  return source('device_changes', columns.split(' '), { total, row });
}

function customAttributes(random: Random, total: number): CopySource {
  const row: RowOf = (id) => [id, 'cost_centre', `K${random.integer(1000, 9999)}`];
  return source('custom_attributes', ['device_id', 'name', 'value'], { total, row });
}

const ACTIONS = 'device.update command.create profile.create tag.link login'.split(' ');

const AUDIT_MS = 900 * 86_400_000;

/** One event a device, of a few admins. */
export function auditSource(random: Random, total: number): CopySource {
  const columns = `at actor role source_address action target_type target_id request_id outcome`;
  const now = Date.now();
  const row: RowOf = (id) => [
    iso(now - ((total - id) / total) * AUDIT_MS),
    `admin-${Math.floor(random.fraction() ** 2 * 50)}`,
    random.pick(['admin', 'operator']),
    `10.0.${random.integer(0, 3)}.${random.integer(1, 254)}`,
    random.pick(ACTIONS),
    random.pick(['devices', 'commands', 'profiles', 'tags']),
    String(id),
    randomUUID(),
    random.chance(0.99) ? 'success' : 'failure',
  ];
  return source('audit_events', columns.split(' '), { total, row });
}

export function groupSource(total: number): CopySource {
  const row: RowOf = (id) => [id, `group-${String(id).padStart(3, '0')}`];
  return source('device_groups', ['id', 'name'], { total, row });
}

/** Every second device is in a group; the first groups are large, the last ones have a few members. */
export function groupMemberSource(
  random: Random,
  { devices, groups }: { devices: number; groups: number },
): CopySource {
  const columns = ['device_group_id', 'device_id'];
  const row: RowOf = (n) => [1 + Math.floor(random.fraction() ** 3 * groups), n * 2];
  return source('device_group_devices', columns, { total: Math.floor(devices / 2), row });
}
