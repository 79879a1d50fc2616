import { z } from 'zod';
import { type HttpReply, parseJson, refusedReply } from '../wire/http-reply.js';
import { LabError } from '../wire/lab-error.js';
import { machineInfo } from './device-info.js';
import { type EnrollmentProfile, readProfileFile, serverUrl } from './enrollment-profile.js';
import type { AccountWay, EnrollingDevice } from './enrollment-way.js';
import { signInOnTheWeb } from './web-sign-in.js';

const discovery = z.object({
  Servers: z
    .array(z.object({ Version: z.enum(['mdm-byod', 'mdm-adde']), BaseURL: z.url() }))
    .min(1),
});

type Server = z.infer<typeof discovery>['Servers'][number];

const MODES = { 'mdm-byod': 'BYOD', 'mdm-adde': 'ADDE' } as const;

const FAMILIES = { iOS: 'iPhone', macOS: 'Mac' } as const;

/**
 * What a person does who signs in with a work account in Settings. The server decides whether the
 * device is enrolled as a personal one, with an EnrollmentID in place of its UDID.
 */
export async function obtainByAccount(
  enrolling: EnrollingDevice,
  way: AccountWay,
): Promise<EnrollmentProfile> {
  const { device, http } = enrolling;
  const { Version: version, BaseURL: url } = await discover(enrolling, way);
  if (version === 'mdm-byod') device.enrollmentId = device.random.fork('enrollment').uuid();
  const page = readChallenge(url, await post(enrolling, way, { url }));
  const accessToken = await signInOnTheWeb(http, page, way.credentials);
  const reply = await post(enrolling, way, { url, accessToken });
  if (reply.status !== 200) throw refusedReply(url, reply);
  const profile = readProfileFile(reply.body);
  const { enrollmentMode = 'none' } = profile.mdm;
  if (enrollmentMode !== MODES[version]) {
    throw new LabError(
      `the server announced ${version}, but its profile has mode ${enrollmentMode}`,
    );
  }
  return profile;
}

/** A real device asks the domain of the account; here the server itself answers. */
async function discover(
  enrolling: EnrollingDevice,
  { url: base, credentials }: AccountWay,
): Promise<Server> {
  const url = serverUrl(base, '/.well-known/com.apple.remotemanagement', {
    'user-identifier': credentials.account,
    'model-family': familyOf(enrolling),
  });
  const reply = await enrolling.http.send({ method: 'GET', url });
  if (reply.status !== 200) throw refusedReply(url, reply);
  const read = discovery.safeParse(parseJson(reply.body));
  const server = read.data?.Servers[0];
  if (server === undefined) throw new LabError(`${url} names no server`, { cause: read.error });
  return server;
}

async function post(
  { http, device }: EnrollingDevice,
  { activation }: AccountWay,
  { url, accessToken }: { url: string; accessToken?: string | undefined },
): Promise<HttpReply> {
  const body = await activation.sign(device, machineInfo(device));
  const headers: Record<string, string> = { 'Content-Type': 'application/pkcs7-signature' };
  if (accessToken !== undefined) headers.Authorization = `Bearer ${accessToken}`;
  return await http.send({ method: 'POST', url, headers, body });
}

/** The sign-in page that a 401 names (RFC 9110 11.6.1). */
function readChallenge(url: string, reply: HttpReply): string {
  if (reply.status !== 401) throw refusedReply(url, reply);
  const challenge = String(reply.headers['www-authenticate'] ?? '');
  const method = /\bmethod="([^"]*)"/.exec(challenge)?.[1];
  const page = /\burl="([^"]*)"/.exec(challenge)?.[1];
  const isBearer = /^Bearer\s/i.test(challenge) && method === 'apple-as-web';
  if (isBearer && page !== undefined && URL.canParse(page)) return page;
  throw new LabError(`the server asks for a sign-in method that devices don't know: ${challenge}`);
}

function familyOf({ device }: EnrollingDevice): string {
  const { platform, model } = device.identity;
  return model.modelName === 'iPad' ? 'iPad' : FAMILIES[platform];
}
