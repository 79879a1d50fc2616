import { z } from 'zod';
import type { LabPlatform } from '../devices/device-models.js';
import type { HttpClient } from '../wire/http-client.js';
import { refusal } from '../wire/refusal.js';

/** A device of Apple's program that the server waits for. */
export interface AwaitedDevice {
  serialNumber: string;
  /** As Apple lists it; absent where only an admin of the server says that it is one of Apple's. */
  kind?: DeviceKind;
}

export interface DeviceKind {
  /** iPhone, iPad, Mac and the like. */
  family: string;
  model: string;
}

const AT_ONCE = 200;
const PLATFORMS: Record<string, LabPlatform> = { iPhone: 'iOS', iPad: 'iOS', Mac: 'macOS' };

const listing = z.object({
  devices: z.array(
    z.object({ serial_number: z.string(), device_family: z.string(), model: z.string() }),
  ),
});

/** undefined: nothing like it can be simulated. */
export function platformOf({ family }: DeviceKind): LabPlatform | undefined {
  return PLATFORMS[family];
}

async function lookUp(
  http: HttpClient,
  portal: string,
  serials: readonly string[],
): Promise<Map<string, DeviceKind>> {
  const url = `${portal}/devices?serial=${serials.map(encodeURIComponent).join(',')}`;
  const reply = await http.send({ method: 'GET', url });
  if (reply.status !== 200) throw refusal(url, reply);
  const { devices } = listing.parse(JSON.parse(reply.body.toString()));
  return new Map(
    devices.map(({ serial_number, device_family: family, model }) => {
      return [serial_number, { family, model }];
    }),
  );
}

/** Those that wait, and what Apple's stand-in says they are, in the same order. */
export async function describeAwaited(
  http: HttpClient,
  portal: string | undefined,
  serials: readonly string[],
): Promise<AwaitedDevice[]> {
  if (portal === undefined) return serials.map((serialNumber) => ({ serialNumber }));
  const described: AwaitedDevice[] = [];
  for (let from = 0; from < serials.length; from += AT_ONCE) {
    const some = serials.slice(from, from + AT_ONCE);
    const kinds = await lookUp(http, portal, some);
    for (const serialNumber of some) {
      const kind = kinds.get(serialNumber);
      described.push(kind === undefined ? { serialNumber } : { serialNumber, kind });
    }
  }
  return described;
}

/** Whether a device of the platform, or of any, can play it. */
export function canPlay({ kind }: AwaitedDevice, platform: LabPlatform | undefined): boolean {
  if (kind === undefined) return true;
  const its = platformOf(kind);
  return its !== undefined && (platform ?? its) === its;
}
