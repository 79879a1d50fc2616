import { once } from 'node:events';
import {
  type ClientHttp2Session,
  connect,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from 'node:http2';
import type { Identity } from '../../../src/crypto/x509/certificate.js';
import {
  type ApnsStandIn,
  type ApnsStandInOptions,
  startApnsStandIn,
} from '../../../src/lab/apns/apns-stand-in.js';
import {
  certificatePem,
  createLabAuthority,
  issuePushCertificate,
  type LabAuthority,
  privateKeyPem,
} from '../../../src/lab/pki/lab-authority.js';

export const TOKEN = 'ab'.repeat(32);
export const MAGIC = '7d3c0f2e-0000-4000-8000-5b1f6f0a9d21';
export const PAYLOAD = JSON.stringify({ mdm: MAGIC });
export const APNS_ID = '11111111-2222-4333-8444-555555555555';

/** Seconds since 1970. */
export function inSeconds(seconds: number): string {
  return String(Math.floor(Date.now() / 1000) + seconds);
}

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: unknown;
}

export interface StandInUnderTest {
  standIn: ApnsStandIn;
  authority: LabAuthority;
  topic: string;
  /** A new connection, of the lab's push certificate unless another or none (null) is given. */
  open(certificate?: Identity | null): ClientHttp2Session;
  /** A good push, but for what the test changes; undefined leaves a header out. */
  push(changes?: OutgoingHttpHeaders, payload?: string | Buffer): Promise<Answer>;
  pushOn(
    session: ClientHttp2Session,
    changes?: OutgoingHttpHeaders,
    payload?: string | Buffer,
  ): Promise<Answer>;
  stop(): Promise<void>;
}

function headersOf(topic: string, changes: OutgoingHttpHeaders): OutgoingHttpHeaders {
  const headers = {
    ':method': 'POST',
    ':path': `/3/device/${TOKEN}`,
    'apns-topic': topic,
    'apns-push-type': 'mdm',
    'apns-priority': '10',
    'apns-expiration': inSeconds(3600),
    'apns-id': APNS_ID,
    ...changes,
  };
  return Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined));
}

export async function exchange(
  session: ClientHttp2Session,
  headers: OutgoingHttpHeaders,
  payload: string | Buffer,
): Promise<Answer> {
  const stream = session.request(headers);
  stream.end(payload);
  const [answer] = (await once(stream, 'response')) as [
    IncomingHttpHeaders & { ':status': number },
  ];
  const chunks: Buffer[] = [];
  for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString();
  return {
    status: answer[':status'],
    headers: answer,
    body: text === '' ? undefined : JSON.parse(text),
  };
}

export async function startUnderTest(
  options: Partial<ApnsStandInOptions> = {},
): Promise<StandInUnderTest> {
  const authority = await createLabAuthority();
  const certificate = await issuePushCertificate(authority);
  const { topic } = certificate;
  const standIn = await startApnsStandIn({ authority, ...options });
  const sessions: ClientHttp2Session[] = [];
  const open = (given: Identity | null = certificate) => {
    const identity = given && { cert: certificatePem(given), key: privateKeyPem(given) };
    const session = connect(standIn.url, { ca: standIn.caPem, ...identity });
    session.on('error', () => undefined);
    sessions.push(session);
    return session;
  };
  let usual: ClientHttp2Session | undefined;
  const usualSession = () => {
    if (usual === undefined || usual.closed || usual.destroyed) usual = open();
    return usual;
  };
  const pushOn: StandInUnderTest['pushOn'] = (session, changes = {}, payload = PAYLOAD) =>
    exchange(session, headersOf(topic, changes), payload);
  return {
    standIn,
    authority,
    topic,
    open,
    pushOn,
    push: (changes, payload) => pushOn(usualSession(), changes, payload),
    stop: async () => {
      for (const session of sessions) session.destroy();
      await standIn.close();
    },
  };
}

/** Resolves once the condition holds; rejects when it does not within ten seconds. */
export async function until(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 10_000;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error('it never came true');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
