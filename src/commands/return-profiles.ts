import type { PlistDict, PlistNode, PlistNodeDict } from '../protocol/plist/plist.js';
import { readProfile } from '../protocol/profiles/profile-kind.js';

/** The profile by which an erased device joins a network, or enrolls. */
export type ReturnProfile = 'wifi_profile' | 'mdm_profile';

const WIFI = 'com.apple.wifi.managed';
const MDM = 'com.apple.mdm';
/** More than the settings may have. */
const MAX_BYTES = 256 * 1024;

/** What a Wi-Fi payload names its network by: a name, or the domain of a Passpoint network. */
const NETWORK_KEYS = ['SSID_STR', 'DomainName'];

const NO_WIFI = `must have a Wi-Fi payload (${WIFI}): devices join a network by it`;
const NO_NETWORK =
  'must have SSID_STR in its Wi-Fi payload: the name of the network that devices join';
const NO_MDM = `must have an MDM payload (${MDM}): devices enroll by it`;

/** Apple's keys of the dictionary ReturnToService. */
const KEYS: readonly [key: string, kind: ReturnProfile][] = [
  ['WiFiProfileData', 'wifi_profile'],
  ['MDMProfileData', 'mdm_profile'],
];

/** Why devices can't return to service by the profile. One that can't be read, as an encrypted one, has no fault. */
export function returnProfileFault(kind: ReturnProfile, bytes: Buffer): string | undefined {
  const { fault, profile } = readProfile(bytes, MAX_BYTES);
  if (fault !== undefined || profile === undefined) return fault;
  if (kind === 'mdm_profile') return payloadsOf(profile, MDM).length > 0 ? undefined : NO_MDM;
  const networks = payloadsOf(profile, WIFI);
  if (networks.length === 0) return NO_WIFI;
  return networks.every(namesNetwork) ? undefined : NO_NETWORK;
}

/** The faults of the profiles in a dictionary ReturnToService, by their keys. */
export function faultsOfReturn(dictionary: PlistDict): { key: string; fault: string }[] {
  return KEYS.flatMap(([key, kind]) => {
    const { [key]: bytes } = dictionary;
    const fault = Buffer.isBuffer(bytes) ? returnProfileFault(kind, bytes) : undefined;
    return fault === undefined ? [] : [{ key, fault }];
  });
}

/** The faults of the profiles, in base64, that settings have. */
export function faultsOfSettings(settings: Record<string, unknown>): Record<string, string> {
  const faults = KEYS.flatMap(([, kind]) => {
    const { [kind]: profile } = settings;
    if (typeof profile !== 'string') return [];
    const fault = returnProfileFault(kind, Buffer.from(profile, 'base64'));
    return fault === undefined ? [] : [[kind, `${kind} ${fault}`] as const];
  });
  return Object.fromEntries(faults);
}

function payloadsOf(profile: PlistNodeDict, type: string): PlistNodeDict[] {
  const content = profile.get('PayloadContent');
  const payloads: PlistNode[] = Array.isArray(content) ? content : [];
  return payloads.filter(
    (payload): payload is PlistNodeDict =>
      payload instanceof Map && payload.get('PayloadType') === type,
  );
}

function namesNetwork(payload: PlistNodeDict): boolean {
  return NETWORK_KEYS.some((key) => {
    const name = payload.get(key);
    return typeof name === 'string' && name !== '';
  });
}
