import type { IncomingHttpHeaders } from 'node:http2';
import { isDeviceToken } from './courier-lines.js';
import { type Refusal, refusal } from './push-answer.js';

const PATH = '/3/device/';
export const MAX_PAYLOAD_BYTES = 4096;
const MAX_COLLAPSE_ID_BYTES = 64;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const PRIORITIES = new Set(['1', '5', '10']);

/** The client of a connection, by its certificate. */
export interface Pusher {
  /** The UID of a certificate that the lab's CA issued; undefined: none, or of another CA. */
  topic: string | undefined;
}

type Headers = IncomingHttpHeaders;

function faultyHeader(value: string | string[] | undefined, reason: string): Refusal {
  // Node.js joins what was sent twice.
  return refusal(400, String(value).includes(', ') ? 'DuplicateHeaders' : reason);
}

function tokenFault(path: string): Refusal | undefined {
  if (!path.startsWith(PATH) || path.includes('/', PATH.length)) return refusal(404, 'BadPath');
  if (path.length === PATH.length) return refusal(400, 'MissingDeviceToken');
  const isGood = isDeviceToken(path.slice(PATH.length));
  return isGood ? undefined : refusal(400, 'BadDeviceToken');
}

function topicFault({ 'apns-topic': topic }: Headers, pusher: Pusher): Refusal | undefined {
  if (topic === pusher.topic) return undefined;
  return topic === undefined ? refusal(400, 'MissingTopic') : faultyHeader(topic, 'BadTopic');
}

function optionFault(headers: Headers): Refusal | undefined {
  const priority = headers['apns-priority'];
  if (priority !== undefined && !PRIORITIES.has(String(priority))) {
    return faultyHeader(priority, 'BadPriority');
  }
  const expiration = headers['apns-expiration'];
  if (expiration !== undefined && !/^\d{1,15}$/.test(String(expiration))) {
    return faultyHeader(expiration, 'BadExpirationDate');
  }
  const collapseId = headers['apns-collapse-id'];
  if (collapseId !== undefined && Buffer.byteLength(String(collapseId)) > MAX_COLLAPSE_ID_BYTES) {
    return refusal(400, 'BadCollapseId');
  }
  return undefined;
}

/** Checks a push before its payload has arrived, in the order of the headers. */
export function headerFault(headers: Headers, pusher: Pusher): Refusal | undefined {
  if (headers[':method'] !== 'POST') return refusal(405, 'MethodNotAllowed');
  if (pusher.topic === undefined) return refusal(403, 'BadCertificate');
  const fault = tokenFault(headers[':path'] ?? '');
  if (fault !== undefined) return fault;
  const id = headers['apns-id'];
  if (id !== undefined && !UUID.test(String(id))) return faultyHeader(id, 'BadMessageId');
  if (headers['apns-push-type'] !== 'mdm') {
    return faultyHeader(headers['apns-push-type'], 'InvalidPushType');
  }
  return topicFault(headers, pusher) ?? optionFault(headers);
}

/** The token in a path that passed `headerFault`, lower case. */
export function tokenOf(path: string): string {
  // A copy: a slice would keep the whole path, which is outside of the heap, in memory.
  const token = Buffer.from(path, 'latin1').toString('latin1', PATH.length);
  return /[A-F]/.test(token) ? token.toLowerCase() : token;
}

/** The push magic in a payload; MDM payloads have that one member. */
export function readPayload(body: Buffer): string | Refusal {
  if (body.length > MAX_PAYLOAD_BYTES) return refusal(413, 'PayloadTooLarge');
  if (body.length === 0) return refusal(400, 'PayloadEmpty');
  try {
    const payload: unknown = JSON.parse(body.toString('utf8'));
    const [[name, magic] = [], ...others] = Object.entries(payload ?? {});
    if (name === 'mdm' && typeof magic === 'string' && others.length === 0) return magic;
  } catch {
    // falls through
  }
  // Our own reason: Apple's table has none for it.
  return refusal(400, 'BadPayload');
}
