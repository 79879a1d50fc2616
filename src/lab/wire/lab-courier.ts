import { type CourierClient, connectCourier } from '../apns/courier-client.js';
import { fetchLab, type LabDescription } from '../authority/lab-description.js';
import type { HttpClient } from './http-client.js';

export interface LabCourierOptions {
  /** Base URL of the server. */
  url: string;
  signal: AbortSignal;
}

export interface LabCourier {
  courier: CourierClient;
  description: LabDescription;
}

/** To the push service of the server's lab; after a restart it lies elsewhere. LabError: no lab. */
export async function openLabCourier(
  http: HttpClient,
  { url, signal }: LabCourierOptions,
): Promise<LabCourier> {
  const description = await fetchLab(http, url);
  const find = async () => (await fetchLab(http, url)).apns.courier;
  return { courier: connectCourier({ url: find, signal }), description };
}
