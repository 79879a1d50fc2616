import type { Platform } from '../db/device-path/authenticate-message.js';

/** Apple's product families by the start of ProductName, Model or ModelName. */
const FAMILIES: readonly (readonly [RegExp, Platform])[] = [
  [/^(iPhone|iPad|iPod)/i, 'iOS'],
  [/^(Mac|iMac|Xserve|VirtualMac)/i, 'macOS'],
  [/^(AppleTV|Apple TV)/i, 'tvOS'],
  [/^(RealityDevice|Apple Vision|Vision Pro)/i, 'visionOS'],
  [/^(Watch|Apple Watch)/i, 'watchOS'],
];

/** The platform that these names tell; null when none of them is known. */
export function platformOf(names: (string | undefined)[]): Platform | null {
  for (const name of names) {
    const family = FAMILIES.find(([pattern]) => name !== undefined && pattern.test(name));
    if (family !== undefined) return family[1];
  }
  return null;
}
