import { z } from 'zod';
import { encodePem } from '../../crypto/asn1/pem.js';
import type { HttpClient } from '../wire/http-client.js';
import { LabError } from '../wire/lab-error.js';
import { refusal } from '../wire/refusal.js';

const profile = z.object({
  url: z.string(),
  configuration_web_url: z.string().optional(),
  anchor_certs: z.array(z.string()).default([]),
  await_device_configured: z.boolean().default(false),
});
const activation = z.object({ profile });
const unknownDevice = z.object({ known: z.boolean(), error: z.string() });

/** What Apple has a device do that is set up. */
export interface DepActivation {
  /** Where it asks for its enrollment profile. */
  url: string;
  /** PEM of what it is to trust besides. */
  anchors: string[];
  isAwaitingConfiguration: boolean;
}

function parse<T>(schema: z.ZodType<T>, body: Buffer): T | undefined {
  try {
    return schema.safeParse(JSON.parse(body.toString())).data;
  } catch {
    return undefined;
  }
}

function toActivation({ profile: given }: z.infer<typeof activation>): DepActivation {
  const { url, configuration_web_url: page, anchor_certs: anchors } = given;
  if (page !== undefined && page !== '') {
    throw new LabError('the profile wants a person at its configuration_web_url');
  }
  return {
    url,
    anchors: anchors.map((text) => encodePem('CERTIFICATE', Buffer.from(text, 'base64'))),
    isAwaitingConfiguration: given.await_device_configured,
  };
}

/**
 * What Apple's stand-in tells the device; undefined when it does not know it. LabError when it knows
 * it but has no profile for it.
 */
export async function askDep(
  http: HttpClient,
  portal: string,
  serialNumber: string,
): Promise<DepActivation | undefined> {
  const url = `${portal}/activation?serial=${encodeURIComponent(serialNumber)}`;
  const reply = await http.send({ method: 'GET', url });
  if (reply.status === 404) {
    const told = parse(unknownDevice, reply.body);
    if (told?.known === false) return undefined;
    if (told !== undefined) throw new LabError(told.error);
  }
  const given = reply.status === 200 ? parse(activation, reply.body) : undefined;
  if (given === undefined) throw refusal(url, reply);
  return toActivation(given);
}
