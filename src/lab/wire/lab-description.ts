import { z } from 'zod';
import { CourierClient } from '../apns/courier-client.js';
import type { HttpClient } from './http-client.js';
import { parseJson } from './http-reply.js';
import { LabError } from './lab-error.js';

const description = z.object({
  apns: z.object({
    /** Base URL of the stand-in for pushers. */
    url: z.url(),
    /** PEM of the CA that issued its certificate. */
    ca: z.string(),
    /** Base URL of the service that devices connect to. */
    courier: z.url(),
    /** Base URL of the stand-in's control. */
    control: z.url(),
  }),
  /** Absent in a server without a stand-in for DEP. */
  dep: z
    .object({
      url: z.url(),
      ca: z.string(),
      /** Base URL of the stand-in for Apple's portal, and of what devices ask at activation. */
      portal: z.url(),
    })
    .optional(),
  push_topic: z.string(),
  /** PEM of the CA that certifies simulated devices, and of its key. */
  device_ca: z.object({ certificate: z.string(), key: z.string() }),
  /** DEP serial numbers that no device has enrolled with. */
  serials: z.array(z.string()),
});

export type LabDescription = z.infer<typeof description>;

/** Asks the server where the stand-ins of its lab are. LabError when it has none. */
export async function fetchLab(http: HttpClient, baseUrl: string): Promise<LabDescription> {
  const url = `${baseUrl.replace(/\/+$/, '')}/lab`;
  const { status, body } = await http.send({ method: 'GET', url });
  if (status !== 200) {
    const remedy = 'start the server with LAB=on, on this machine';
    throw new LabError(`${url} answered ${status}: ${remedy}`);
  }
  const read = description.safeParse(parseJson(body));
  if (read.success) return read.data;
  throw new LabError(`${url} does not describe a lab`, { cause: read.error });
}

export interface LabCourierOptions {
  /** Base URL of the server. */
  url: string;
  signal: AbortSignal;
}

export interface LabCourier {
  courier: CourierClient;
  description: LabDescription;
}

/**
 * Connects to the push service of the server's lab; asks for its address again after each restart.
 * LabError: no lab.
 */
export async function openLabCourier(
  http: HttpClient,
  { url, signal }: LabCourierOptions,
): Promise<LabCourier> {
  const description = await fetchLab(http, url);
  const find = async () => (await fetchLab(http, url)).apns.courier;
  return { courier: new CourierClient({ url: find, signal }), description };
}
