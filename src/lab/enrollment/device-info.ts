import { buildPlist, type PlistInput } from '../../protocol/plist/plist.js';
import { isAtLeast } from '../devices/os-releases.js';
import type { SimulatedDevice } from '../devices/simulated-device.js';

type Facts = Record<string, PlistInput | undefined>;

const CAN_REQUIRE_UPDATE = { iOS: '17.0', macOS: '14.0' } as const;
const TELLS_UPDATE_ID = { iOS: '17.4', macOS: '14.4' } as const;

/** A person's own device does not tell which one it is. */
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
  const tellsId = isAtLeast(release.version, TELLS_UPDATE_ID[platform]);
  return buildPlist({
    ...identifiers(device),
    PRODUCT: model.productName,
    VERSION: release.build,
    OS_VERSION: isRecent ? release.version : undefined,
    LANGUAGE: 'en',
    MDM_CAN_REQUEST_SOFTWARE_UPDATE: isRecent ? true : undefined,
    SOFTWARE_UPDATE_DEVICE_ID: tellsId ? model.productName : undefined,
  });
}

export interface AskedAttributes {
  attributes: readonly string[];
  challenge: string | undefined;
}

/** What a Profile Service asked for, with its challenge, as an XML property list. */
export function deviceAttributes(device: SimulatedDevice, asked: AskedAttributes): Buffer {
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
  const told = asked.attributes.map((name) => [name, known[name]] as const);
  return buildPlist({ ...Object.fromEntries(told), CHALLENGE: asked.challenge });
}
