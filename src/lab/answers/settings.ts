import { isPlistDict, type PlistDict, type PlistInput } from '../../protocol/plist/plist.js';
import type { SimulatedDevice } from '../devices/simulated-device.js';
import { type Answer, acknowledged, type DeviceError, describeErrors } from './answer.js';

/** Applies one setting; returns the error if it cannot. */
type Setter = (device: SimulatedDevice, item: PlistDict) => DeviceError | undefined;

function fault(message: string): DeviceError {
  return { domain: 'MCSettingsErrorDomain', code: 28_000, message };
}

function textSetter(key: string, set: (device: SimulatedDevice, text: string) => void): Setter {
  return (device, item) => {
    const value = item[key];
    if (typeof value !== 'string') return fault(`The setting has no ${key}.`);
    set(device, value);
    return undefined;
  };
}

function switchSetter(set: (device: SimulatedDevice, isOn: boolean) => void): Setter {
  return (device, item) => {
    if (typeof item.Enabled !== 'boolean') return fault('The setting has no Enabled.');
    set(device, item.Enabled);
    return undefined;
  };
}

const MAC_SETTERS: Record<string, Setter> = {
  HostName: textSetter('HostName', (device, name) => {
    device.hostName = name;
  }),
};

const IOS_SETTERS: Record<string, Setter> = {
  VoiceRoaming: switchSetter((device, isOn) => {
    device.isVoiceRoamingEnabled = isOn;
  }),
  DataRoaming: switchSetter((device, isOn) => {
    device.isDataRoamingEnabled = isOn;
  }),
  PersonalHotspot: switchSetter((device, isOn) => {
    device.isHotspotEnabled = isOn;
  }),
  TimeZone: textSetter('TimeZone', (device, zone) => {
    device.timeZone = zone;
  }),
  Wallpaper: () => undefined,
  DiagnosticSubmission: () => undefined,
  AppAnalytics: () => undefined,
  AccessibilitySettings: () => undefined,
};

const SETTERS: Record<string, Setter> = {
  DeviceName: textSetter('DeviceName', (device, name) => {
    device.deviceName = name;
  }),
  OrganizationInfo: (device, item) => {
    const info = item.OrganizationInfo;
    device.organizationInfo = isPlistDict(info) ? info : undefined;
    return undefined;
  },
  MDMOptions: (device, item) => {
    if (!isPlistDict(item.MDMOptions)) return fault('The setting has no MDMOptions.');
    Object.assign(device.mdmOptions, item.MDMOptions);
    return undefined;
  },
  Bluetooth: switchSetter(() => undefined),
};

function setterFor(device: SimulatedDevice, name: string): Setter | undefined {
  const own = device.identity.platform === 'iOS' ? IOS_SETTERS : MAC_SETTERS;
  const all = { ...SETTERS, ...own };
  return Object.hasOwn(all, name) ? all[name] : undefined;
}

function applyItem(device: SimulatedDevice, item: PlistDict): PlistInput {
  const name = typeof item.Item === 'string' ? item.Item : '';
  const setter = setterFor(device, name);
  const problem = setter ? setter(device, item) : fault(`“${name}” is not a setting.`);
  if (problem === undefined) return { Item: name, Status: 'Acknowledged' };
  return { Item: name, Status: 'Error', ErrorChain: describeErrors([problem]) };
}

/** The command as a whole is acknowledged even if some of its settings failed. */
export function applySettings(device: SimulatedDevice, command: PlistDict): Answer {
  if (!Array.isArray(command.Settings)) return { status: 'CommandFormatError' };
  const items = command.Settings.filter(isPlistDict);
  return acknowledged({ Settings: items.map((item) => applyItem(device, item)) });
}
