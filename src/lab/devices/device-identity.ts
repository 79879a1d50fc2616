import {
  DEVICE_MODELS,
  type DeviceKind,
  type DeviceModel,
  type LabPlatform,
} from './device-models.js';
import { majorOf, OS_RELEASES, type OsRelease } from './os-releases.js';
import type { Random } from './random.js';

/** What never changes about a device. */
export interface DeviceIdentity {
  platform: LabPlatform;
  model: DeviceModel;
  release: OsRelease;
  udid: string;
  /** The second UDID of Apple silicon Macs, in the format of an iPhone. */
  provisioningUdid: string;
  serialNumber: string;
  owner: string;
  isSupervised: boolean;
  isCellular: boolean;
  imei: string;
  meid: string;
  iccid: string;
  phoneNumber: string;
  wifiMac: string;
  bluetoothMac: string;
  ethernetMac: string;
  /** GB, as DeviceCapacity counts. */
  capacity: number;
}

const OWNERS = [
  'Amara',
  'Ben',
  'Chiara',
  'Daniel',
  'Elif',
  'Farid',
  'Grace',
  'Hugo',
  'Ines',
  'Jonas',
  'Keiko',
  'Liam',
  'Mei',
  'Noah',
  'Olga',
  'Priya',
  'Quentin',
  'Rosa',
  'Sven',
  'Tariq',
  'Uma',
  'Viktor',
  'Wanjiru',
  'Yara',
  'Zoë',
] as const;

const SERIAL_ALPHABET = '0123456789CDFGHJKLMNPQRTVWXY';

function serialNumber(random: Random, isOld: boolean): string {
  if (isOld) return `C02${random.text(SERIAL_ALPHABET, 9)}`;
  return random.text(SERIAL_ALPHABET.slice(10), 1) + random.text(SERIAL_ALPHABET, 9);
}

/** 00008110-001A…: chip and ECID; devices older than that have 40 hex digits. */
function chipUdid(random: Random, chip: string | undefined): string {
  if (chip === undefined) return random.bytes(20).toString('hex');
  return `0000${chip}-00${random.bytes(7).toString('hex').toUpperCase()}`;
}

/** The last digit of an IMEI is a Luhn check digit. */
function luhnDigit(digits: string): number {
  const sum = [...digits].reverse().reduce((total, digit, index) => {
    const value = Number(digit) * (index % 2 === 0 ? 2 : 1);
    return total + (value > 9 ? value - 9 : value);
  }, 0);
  return (10 - (sum % 10)) % 10;
}

function imei(random: Random): string {
  const digits = `35${random.text('0123456789', 12)}`;
  return `${digits}${luhnDigit(digits)}`;
}

function spacedImei(digits: string): string {
  return `${digits.slice(0, 2)} ${digits.slice(2, 8)} ${digits.slice(8, 14)} ${digits.slice(14)}`;
}

function releasesFor(platform: LabPlatform, [oldest, newest]: readonly [number, number]) {
  return OS_RELEASES[platform].filter(({ version }) => {
    const major = majorOf(version);
    return major >= oldest && major <= newest;
  });
}

/** Models of that kind; else of its family; else all. */
function modelsFor(platform: LabPlatform, kind: DeviceKind | undefined): readonly DeviceModel[] {
  const all = DEVICE_MODELS[platform];
  if (kind === undefined) return all;
  const ofFamily = all.filter(({ modelName }) => modelName === kind.family);
  const candidates = ofFamily.length > 0 ? ofFamily : all;
  const same = candidates.filter(({ marketingName }) => marketingName === kind.model);
  return same.length > 0 ? same : candidates;
}

export function createIdentity(
  platform: LabPlatform,
  random: Random,
  kind?: DeviceKind,
): DeviceIdentity {
  const model = random.pick(modelsFor(platform, kind));
  const isOld = model.chip === undefined;
  const provisioningUdid = chipUdid(random, model.chip);
  return {
    platform,
    model,
    release: random.pick(releasesFor(platform, model.majors)),
    udid: platform === 'macOS' ? random.uuid() : provisioningUdid,
    provisioningUdid,
    serialNumber: serialNumber(random, isOld),
    owner: random.pick(OWNERS),
    isSupervised: random.chance(0.5),
    isCellular: model.isCellular,
    imei: spacedImei(imei(random)),
    meid: random.text('0123456789ABCDEF', 14),
    iccid: `8901${random.text('0123456789', 16)}`,
    phoneNumber: `+1555${random.text('0123456789', 7)}`,
    wifiMac: random.mac(),
    bluetoothMac: random.mac(),
    ethernetMac: random.mac(),
    capacity: random.pick(model.capacities),
  };
}
