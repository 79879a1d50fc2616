import { randomUUID } from 'node:crypto';
import {
  DEVICE_MODELS,
  type DeviceModel,
  type LabPlatform,
} from '../../src/lab/devices/device-models.js';
import { majorOf, OS_RELEASES } from '../../src/lab/devices/os-releases.js';
import type { Random } from '../../src/lab/devices/random.js';
import type { CopySource, CopyValue } from './copy-rows.js';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const SERIAL_ALPHABET = '0123456789CDFGHJKLMNPQRTVWXY';

const FIRST_NAMES = `Anna Ben Carla David Elif Finn Greta Hassan Ida Jonas Katja Lukas Mia Noah Olga
Paul Quentin Rosa Samuel Tara Ulrich Vera Wanda Xaver Yasmin Zoe Björn Chloé Émile Søren`.split(
  /\s+/,
);
const LAST_NAMES = `Adler Bauer Costa Dietz Ebert Fuchs Garcia Huber Ivanov Jansen Keller Lang Meyer
Novak Okafor Petrov Quast Richter Schulz Thomas Ullrich Vogel Weber Yilmaz Zimmer`.split(/\s+/);
const SITES = 'BER HAM MUC CGN FRA PAR LON NYC SFO TYO'.split(' ');
const CARRIERS = ['Telekom', 'Vodafone', 'o2', 'Orange', 'T-Mobile', 'Verizon'];
const ZONES = ['Europe/Berlin', 'Europe/Paris', 'Europe/London', 'America/New_York', 'Asia/Tokyo'];

type DeviceRow = Record<string, CopyValue>;

interface Drawn {
  random: Random;
  id: number;
  platform: LabPlatform;
  model: DeviceModel;
  serial: string;
}

/** Devices 1 to `count`, with what a full inventory leaves in their columns. */
export function deviceSource(random: Random, count: number): CopySource {
  const sample = random.fork('columns');
  const names = Array.from({ length: 100 }, (_, id) => Object.keys(deviceRow(sample, id))).flat();
  const columns = [...new Set(names)];
  return { table: 'devices', columns, total: count, rows: deviceRows(random, count, columns) };
}

function deviceRow(random: Random, id: number): DeviceRow {
  const platform = random.chance(0.65) ? 'iOS' : 'macOS';
  const model = random.pick(DEVICE_MODELS[platform]);
  const serial = random.text(SERIAL_ALPHABET, model.chip === undefined ? 12 : 10);
  const drawn: Drawn = { random, id, platform, model, serial };
  const isEnrolled = random.chance(0.93);
  return {
    id,
    udid: randomUUID().toUpperCase(),
    enrollment_state: isEnrolled ? 'enrolled' : 'unenrolled',
    enrollment_type: 'device',
    enrollment_number: 1,
    is_enrolled: isEnrolled,
    platform,
    topic: 'com.apple.mgmt.External.5a3bbd5f-0b1e-4a8e-9c80-4b3cf7d7a001',
    // Never opened: the bench sends no pushes.
    sealed_push: isEnrolled ? 'sealed'.padEnd(160) : null,
    push_state: isEnrolled ? 'ok' : null,
    ...hardwareOf(drawn),
    ...timesOf(drawn, isEnrolled),
    ...cellularOf(drawn),
    ...macOf(drawn),
    ...managementOf(drawn),
  };
}

function hardwareOf(drawn: Drawn): DeviceRow {
  const { random, platform, model, serial } = drawn;
  const { majors, orderNumber } = model;
  const releases = OS_RELEASES[platform].filter(({ version }) => {
    return majorOf(version) >= majors[0] && majorOf(version) <= majors[1];
  });
  const release = releases[Math.floor(Math.sqrt(random.fraction()) * releases.length)];
  const capacity = random.pick(model.capacities);
  return {
    device_name: deviceName(drawn),
    build_version: release?.build,
    os_version: release?.version,
    model: platform === 'iOS' ? `${orderNumber}LL` : model.productName,
    model_name: model.modelName,
    model_number: `${orderNumber}LL/A`,
    product_name: model.productName,
    serial_number: serial,
    device_capacity: capacity,
    available_device_capacity: Math.round(capacity * random.fraction() * 1000) / 1000,
    battery_level: model.hasBattery ? random.integer(0, 100) / 100 : -1,
    wifi_mac: random.mac(),
    bluetooth_mac: random.mac(),
    time_zone: random.pick(ZONES),
    software_update_device_id: model.productName,
  };
}

function deviceName({ random, id, platform, model }: Drawn): string {
  const { marketingName } = model;
  const owner = random.pick(FIRST_NAMES);
  const site = random.pick(SITES);
  if (random.chance(0.5)) return `${owner}'s ${marketingName}`;
  if (random.chance(0.5)) return `${site}-${platform === 'iOS' ? 'IOS' : 'MAC'}-${id}`;
  return `${marketingName} ${random.pick(LAST_NAMES)}, ${owner}`;
}

function timesOf({ random }: Drawn, isEnrolled: boolean): DeviceRow {
  const now = Date.now();
  const enrolledAt = now - random.fraction() * 900 * DAY_MS;
  const silence = isEnrolled ? random.scaled(1, 60 * 24) * HOUR_MS : 90 * DAY_MS;
  const lastSeen = Math.max(enrolledAt, now - silence * random.fraction());
  const iso = (time: number) => new Date(time).toISOString();
  return {
    authenticated_at: iso(enrolledAt - 4000),
    enrolled_at: iso(enrolledAt),
    unenrolled_at: isEnrolled ? null : iso(lastSeen),
    tokenupdate_at: iso(Math.max(enrolledAt, lastSeen - 20 * DAY_MS)),
    last_seen: iso(lastSeen),
    created_at: iso(enrolledAt - 4000),
    last_cloud_backup_date: random.chance(0.4) ? iso(lastSeen - DAY_MS) : null,
  };
}

function cellularOf({ random, model }: Drawn): DeviceRow {
  if (!model.isCellular) return {};
  const carrier = random.pick(CARRIERS);
  const imei = random.text('0123456789', 15);
  const services = [{ Slot: 'CTSubscriptionSlotOne', IMEI: imei, CurrentCarrierNetwork: carrier }];
  return {
    imei,
    iccid: random.text('0123456789', 20),
    phone_number: `+49151${random.text('0123456789', 8)}`,
    modem_firmware_version: '5.02.01',
    cellular_technology: 3,
    service_subscriptions: JSON.stringify(services),
    current_carrier_network: carrier,
    sim_carrier_network: carrier,
    subscriber_carrier_network: carrier,
    current_mcc: '262',
    current_mnc: random.pick(['01', '02', '03']),
    is_roaming: random.chance(0.05),
    voice_roaming_enabled: true,
    data_roaming_enabled: random.chance(0.5),
    personal_hotspot_enabled: random.chance(0.5),
  };
}

function macOf({ random, platform, model, id }: Drawn): DeviceRow {
  if (platform !== 'macOS') return {};
  const name = `${model.marketingName.replace(/ /g, '-')}-${id}`.toLowerCase();
  return {
    hostname: `${name}.corp.example.com`,
    local_hostname: name,
    is_apple_silicon: model.chip !== undefined,
    has_battery: model.hasBattery,
    ethernet_mac: random.mac(),
    fde_enabled: random.chance(0.9),
    fde_has_prk: random.chance(0.8),
    firewall_enabled: random.chance(0.6),
    sip_enabled: random.chance(0.99),
    osu_is_default_catalog: true,
    osu_perform_periodic_check: true,
    osu_automatic_check_enabled: true,
  };
}

function managementOf(drawn: Drawn): DeviceRow {
  const { random, serial } = drawn;
  return {
    is_supervised: random.chance(0.7),
    is_multi_user: false,
    is_activation_lock_enabled: random.chance(0.1),
    is_device_locator_service_enabled: random.chance(0.3),
    is_cloud_backup_enabled: random.chance(0.4),
    is_mdm_lost_mode_enabled: random.chance(0.001),
    itunes_store_account_is_active: random.chance(0.6),
    eas_device_identifier: `APPL${serial}`,
    mdm_options: '{"ActivationLockAllowedWhileSupervised":false}',
    passcode_present: random.chance(0.95),
    passcode_compliant: random.chance(0.9),
    passcode_compliant_with_profiles: random.chance(0.9),
    hardware_encryption_caps: 3,
    asset_tag: random.chance(0.3) ? `A-${random.integer(10_000, 99_999)}` : null,
    access_rights: random.chance(0.95) ? 8191 : 7167,
    auto_lock_time: random.pick([120, 300, 900]),
    ...depOf(drawn),
  };
}

/** What Apple's list of an organization's devices says. */
function depOf({ random, platform, model }: Drawn): DeviceRow {
  if (!random.chance(0.6)) return { is_dep: false };
  return {
    is_dep: true,
    description: model.marketingName.toUpperCase(),
    color: random.pick(['SPACE GRAY', 'SILVER', 'MIDNIGHT', 'STARLIGHT']),
    os: platform === 'iOS' ? 'iOS' : 'OSX',
    device_family: platform === 'iOS' ? 'iPhone' : 'Mac',
    device_assigned_by: `${random.pick(['it', 'school', 'sales'])}@example.com`,
    profile_status: random.chance(0.9) ? 'pushed' : random.pick(['assigned', 'empty', 'removed']),
  };
}

function* deviceRows(random: Random, count: number, columns: string[]): Iterable<CopyValue[]> {
  for (let id = 1; id <= count; id += 1) {
    const row = deviceRow(random, id);
    yield columns.map((name) => row[name]);
  }
}
