import { executeCommand } from '../../../src/lab/answers/commands.js';
import type { LabPlatform } from '../../../src/lab/devices/device-models.js';
import { Random } from '../../../src/lab/devices/random.js';
import {
  createSimulatedDevice,
  type SimulatedDevice,
} from '../../../src/lab/devices/simulated-device.js';
import { deviceChannel, reportMessage } from '../../../src/lab/wire/messages.js';
import { type PlistDict, parsePlistDict } from '../../../src/protocol/plist/plist.js';

export const COMMAND_UUID = '4f1c7d6a-9d3b-4f52-8c0e-0d5b2c1a7e90';

export function createDevice(platform: LabPlatform, isSupervised = true): SimulatedDevice {
  for (let attempt = 0; ; attempt += 1) {
    const random = new Random(`commands ${attempt}`);
    const device = createSimulatedDevice({ platform, random });
    if (device.identity.isSupervised === isSupervised) return device;
  }
}

export function reporterOf(device: SimulatedDevice) {
  return { channel: deviceChannel(device), platform: device.identity.platform };
}

/** What a server reads off the wire once the device has answered. */
export function answerOf(device: SimulatedDevice, command: PlistDict): PlistDict {
  const answer = executeCommand(device, command);
  const requestType = String(command.RequestType);
  const reported = { commandUuid: COMMAND_UUID, requestType, answer };
  return parsePlistDict(reportMessage(reporterOf(device), reported));
}

export function firstError(report: PlistDict) {
  return (report.ErrorChain as PlistDict[])[0];
}

/** A supervised Mac with that kind of processor. */
export function createMac({ isSilicon }: { isSilicon: boolean }): SimulatedDevice {
  for (let attempt = 0; ; attempt += 1) {
    const random = new Random(`macs ${attempt}`);
    const device = createSimulatedDevice({ platform: 'macOS', random, isSupervised: true });
    if ((device.identity.model.chip !== undefined) === isSilicon) return device;
  }
}
