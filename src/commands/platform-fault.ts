import type { DeviceTarget } from '../db/devices/device-repository.js';
import { commandAllowed } from '../protocol/apple/command-schema.js';
import { platformNamed } from './inventory-plan.js';

/**
 * Why the device's platform can't take such a command; undefined when it can. An unknown platform
 * is no misfit: the device itself will say so.
 */
export function platformFault(target: DeviceTarget, requestType: string): string | undefined {
  const { id, platform } = target;
  if (commandAllowed(requestType, { platform: platformNamed(platform) })) return undefined;
  return `${requestType} does not exist on ${platform}, which device ${id} runs`;
}
