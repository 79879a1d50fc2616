import { z } from 'zod';
import type { HttpClient } from '../wire/http-client.js';
import { LabError } from '../wire/lab-error.js';

const description = z.object({
  apns: z.object({
    /** Base URL of the stand-in, for whoever pushes. */
    url: z.url(),
    /** PEM of the CA that its certificate comes from. */
    ca: z.string(),
    /** Base URL of the service that devices connect to. */
    courier: z.url(),
    /** Base URL of what tells the stand-in how to answer. */
    control: z.url(),
  }),
  /** Absent in a server that has no stand-in for Apple's enrollment program. */
  dep: z
    .object({
      url: z.url(),
      ca: z.string(),
      /** Base URL of the website where Apple's customers look after it, and of what devices ask. */
      portal: z.url(),
    })
    .optional(),
  push_topic: z.string(),
  /** PEM of the CA that certifies simulated devices, and of its key. */
  device_ca: z.object({ certificate: z.string(), key: z.string() }),
  /** Serial numbers of Apple's enrollment program that wait for a device. */
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

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}
