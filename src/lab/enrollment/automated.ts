import { refusal } from '../wire/refusal.js';
import { askDep, type DepActivation } from './dep-activation.js';
import { machineInfo } from './device-info.js';
import { type EnrollmentProfile, readProfileFile, serverUrl } from './enrollment-profile.js';
import type { AutomatedWay, Journey } from './enrollment-way.js';

/** Where Apple's stand-in sends it; to the server itself when it knows nothing of the device. */
async function askWhere(journey: Journey, { portal }: AutomatedWay): Promise<string | undefined> {
  const { http, device } = journey;
  if (portal === undefined) return undefined;
  const told = await askDep(http, portal, device.identity.serialNumber);
  if (told === undefined) journey.onStranger?.();
  else obey(journey, told);
  return told?.url;
}

function obey({ http, device }: Journey, told: DepActivation): void {
  http.trust(told.anchors);
  device.isAwaitingConfiguration ||= told.isAwaitingConfiguration;
}

/** As Setup Assistant does it where Apple's enrollment program named the server. */
export async function obtainAutomated(
  journey: Journey,
  way: AutomatedWay,
): Promise<EnrollmentProfile> {
  const { http, device } = journey;
  const { url: base, activation } = way;
  const url = (await askWhere(journey, way)) ?? serverUrl(base, '/dep/enroll');
  const body = await activation.sign(device, machineInfo(device));
  const headers = { 'Content-Type': 'application/pkcs7-signature' };
  const reply = await http.send({ method: 'POST', url, headers, body });
  if (reply.status !== 200) throw refusal(url, reply);
  return readProfileFile(reply.body);
}
