import { z } from 'zod';
import type { HttpReply } from '../wire/http-client.js';
import { LabError } from '../wire/lab-error.js';
import { refusal } from '../wire/refusal.js';
import { machineInfo } from './device-info.js';
import { type EnrollmentProfile, readProfileFile, serverUrl } from './enrollment-profile.js';
import type { AccountWay, Journey } from './enrollment-way.js';
import { signInOnTheWeb } from './web-sign-in.js';

const discovery = z.object({
  Servers: z
    .array(z.object({ Version: z.enum(['mdm-byod', 'mdm-adde']), BaseURL: z.url() }))
    .min(1),
});

type Server = z.infer<typeof discovery>['Servers'][number];

const MODES = { 'mdm-byod': 'BYOD', 'mdm-adde': 'ADDE' } as const;

const FAMILIES = { iOS: 'iPhone', macOS: 'Mac' } as const;

function familyOf({ device }: Journey): string {
  const { platform, model } = device.identity;
  return model.modelName === 'iPad' ? 'iPad' : FAMILIES[platform];
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}

/** A real device asks the domain of the account; the server stands there here. */
async function discover(journey: Journey, { url: base, credentials }: AccountWay): Promise<Server> {
  const url = serverUrl(base, '/.well-known/com.apple.remotemanagement', {
    'user-identifier': credentials.account,
    'model-family': familyOf(journey),
  });
  const reply = await journey.http.send({ method: 'GET', url });
  if (reply.status !== 200) throw refusal(url, reply);
  const read = discovery.safeParse(parseJson(reply.body));
  const server = read.data?.Servers[0];
  if (server === undefined) throw new LabError(`${url} names no server`, { cause: read.error });
  return server;
}

async function post(
  { http, device }: Journey,
  { activation }: AccountWay,
  { url, accessToken }: { url: string; accessToken?: string },
): Promise<HttpReply> {
  const body = await activation.sign(device, machineInfo(device));
  const headers = {
    'Content-Type': 'application/pkcs7-signature',
    ...(accessToken === undefined ? {} : { Authorization: `Bearer ${accessToken}` }),
  };
  return await http.send({ method: 'POST', url, headers, body });
}

/** Where the web page is that the 401 sends people to (RFC 9110 11.6.1). */
function readChallenge(url: string, reply: HttpReply): string {
  if (reply.status !== 401) throw refusal(url, reply);
  const challenge = String(reply.headers['www-authenticate'] ?? '');
  const method = /\bmethod="([^"]*)"/.exec(challenge)?.[1];
  const page = /\burl="([^"]*)"/.exec(challenge)?.[1];
  const isBearer = /^Bearer\s/i.test(challenge) && method === 'apple-as-web';
  if (isBearer && page !== undefined && URL.canParse(page)) return page;
  throw new LabError(
    `the server asks for an account in a way that devices don't know: ${challenge}`,
  );
}

/**
 * As a person does it who signs in with a work account in Settings: whether the device stays theirs, and
 * goes by a name of its own for the server, is the server's to say.
 */
export async function obtainByAccount(
  journey: Journey,
  way: AccountWay,
): Promise<EnrollmentProfile> {
  const { device, http } = journey;
  const { Version: version, BaseURL: url } = await discover(journey, way);
  if (version === 'mdm-byod') device.enrollmentId = device.random.fork('enrollment').uuid();
  const page = readChallenge(url, await post(journey, way, { url }));
  const accessToken = await signInOnTheWeb(http, page, way.credentials);
  const reply = await post(journey, way, { url, accessToken });
  if (reply.status !== 200) throw refusal(url, reply);
  const profile = readProfileFile(reply.body);
  const { enrollmentMode = 'none' } = profile.mdm;
  if (enrollmentMode !== MODES[version]) {
    throw new LabError(
      `the server spoke of ${version}, but its profile has mode ${enrollmentMode}`,
    );
  }
  return profile;
}
