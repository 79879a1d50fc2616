import { z } from 'zod';
import { type DeviceKind, type LabPlatform, platformOf } from '../devices/device-models.js';
import type { HttpClient } from '../wire/http-client.js';
import { parseJson, refusedReply } from '../wire/http-reply.js';

/** A DEP device that is assigned to the server and has not enrolled. */
export interface AwaitedDevice {
  serialNumber: string;
  /** As Apple lists it; absent if only an admin of the server entered the serial number. */
  kind?: DeviceKind | undefined;
}

const SERIALS_PER_REQUEST = 200;

const listing = z.object({
  devices: z.array(
    z.object({ serial_number: z.string(), device_family: z.string(), model: z.string() }),
  ),
});

/** The devices with these serial numbers, in the same order, with the kinds Apple's stand-in lists. */
export async function describeAwaited(
  http: HttpClient,
  portal: string | undefined,
  serials: readonly string[],
): Promise<AwaitedDevice[]> {
  if (portal === undefined) return serials.map((serialNumber) => ({ serialNumber }));
  const described: AwaitedDevice[] = [];
  for (let from = 0; from < serials.length; from += SERIALS_PER_REQUEST) {
    const some = serials.slice(from, from + SERIALS_PER_REQUEST);
    const kinds = await fetchKinds(http, portal, some);
    described.push(
      ...some.map((serialNumber) => ({ serialNumber, kind: kinds.get(serialNumber) })),
    );
  }
  return described;
}

async function fetchKinds(
  http: HttpClient,
  portal: string,
  serials: readonly string[],
): Promise<Map<string, DeviceKind>> {
  const url = `${portal}/devices?serial=${serials.map(encodeURIComponent).join(',')}`;
  const reply = await http.send({ method: 'GET', url });
  if (reply.status !== 200) throw refusedReply(url, reply);
  const { devices } = listing.parse(parseJson(reply.body));
  return new Map(
    devices.map(({ serial_number, device_family: family, model }) => {
      return [serial_number, { family, model }];
    }),
  );
}

/** Whether a device of the platform, or of any if undefined, can be simulated for it. */
export function canSimulate({ kind }: AwaitedDevice, platform: LabPlatform | undefined): boolean {
  if (kind === undefined) return true;
  const own = platformOf(kind);
  return own !== undefined && (platform ?? own) === own;
}
