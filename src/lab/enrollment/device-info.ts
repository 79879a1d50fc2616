import { buildPlist, type PlistInput } from '../../protocol/plist/plist.js';
import { isAtLeast } from '../devices/os-releases.js';
import type { SimulatedDevice } from '../devices/simulated-device.js';

type Facts = Record<string, PlistInput | undefined>;

const CAN_REQUIRE_UPDATE = { iOS: '17.0', macOS: '14.0' } as const;
const SENDS_UPDATE_ID = { iOS: '17.4', macOS: '14.4' } as const;

/** A personal device does not identify itself. */
function identifiers({ identity, enrollmentId }: SimulatedDevice): Facts {
  if (enrollmentId !== undefined) return {};
  const { udid, serialNumber, isCellular, imei, meid } = identity;
  return {
    UDID: udid,
    SERIAL: serialNumber,
    IMEI: isCellular ? imei : undefined,
    MEID: isCellular ? meid : undefined,
  };
}

/** Apple's MachineInfo, as an XML property list. */
export function machineInfo(device: SimulatedDevice): Buffer {
  const { platform, release, model } = device.identity;
  const isRecent = isAtLeast(release.version, CAN_REQUIRE_UPDATE[platform]);
  const sendsId = isAtLeast(release.version, SENDS_UPDATE_ID[platform]);
  return buildPlist({
    ...identifiers(device),
    PRODUCT: model.productName,
    VERSION: release.build,
    OS_VERSION: isRecent ? release.version : undefined,
    LANGUAGE: 'en',
    MDM_CAN_REQUEST_SOFTWARE_UPDATE: isRecent ? true : undefined,
    SOFTWARE_UPDATE_DEVICE_ID: sendsId ? model.productName : undefined,
  });
}

export interface RequestedAttributes {
  attributes: readonly string[];
  challenge: string | undefined;
}

/** The attributes that a Profile Service requested, with its challenge, as an XML property list. */
export function deviceAttributes(device: SimulatedDevice, requested: RequestedAttributes): Buffer {
  const { identity, deviceName } = device;
  const known: Facts = {
    ...identifiers(device),
    PRODUCT: identity.model.productName,
    VERSION: identity.release.build,
    ICCID: identity.isCellular ? identity.iccid : undefined,
    DEVICE_NAME: deviceName,
    LANGUAGE: 'en',
    MAC_ADDRESS_EN0: identity.wifiMac,
  };
  const attributes = requested.attributes.map((name) => [name, known[name]] as const);
  return buildPlist({ ...Object.fromEntries(attributes), CHALLENGE: requested.challenge });
}
