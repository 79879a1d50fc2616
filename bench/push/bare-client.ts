import { type ClientHttp2Session, connect } from 'node:http2';
import { createLogger } from '../../src/logger.js';
import { ApnsClient } from '../../src/push/apns/apns-client.js';
import { type Quantiles, quantilesOf } from '../load/measure.js';
import { magicOf, tokenOf } from './push-devices.js';
import type { PushTarget } from './stand-in-process.js';

export interface BarePushes {
  pushes: number;
  /** How many are under way at once. */
  inFlight: number;
}

export interface PushRate {
  perSecond: number;
  failures: number;
  /** Microseconds that one push costs this process. */
  cpu: number;
  /** Milliseconds from request to answer. */
  times: Quantiles;
}

/** Keeps `inFlight` of `send` under way until all are done. */
export async function measurePushes(
  { pushes, inFlight }: BarePushes,
  send: (id: number) => Promise<boolean>,
): Promise<PushRate> {
  const times: number[] = [];
  let failures = 0;
  let next = 0;
  const lane = async () => {
    while (next < pushes) {
      next += 1;
      const startedAt = performance.now();
      if (!(await send(next))) failures += 1;
      times.push(performance.now() - startedAt);
    }
  };
  const startedAt = performance.now();
  const cpuBefore = process.cpuUsage();
  await Promise.all(Array.from({ length: inFlight }, lane));
  const seconds = (performance.now() - startedAt) / 1000;
  const { user, system } = process.cpuUsage(cpuBefore);
  const cpu = (user + system) / pushes;
  return { perSecond: pushes / seconds, failures, cpu, times: quantilesOf(times) };
}

/** What node:http2 alone reaches on one connection: no client built on it can do better. */
export async function measureBareClient(target: PushTarget, amount: BarePushes): Promise<PushRate> {
  const { ca, certificate, privateKey, url } = target;
  const session = connect(url, { ca, cert: certificate, key: privateKey });
  try {
    await ready(session);
    return await measurePushes(amount, (id) => push(session, target, id));
  } finally {
    session.close();
  }
}

/** Our client without the server around it. */
export async function measureClientAlone(
  target: PushTarget,
  amount: BarePushes,
): Promise<PushRate> {
  const { url: host, ca, topic, certificate, privateKey } = target;
  const credentials = { topic, certificate, privateKey, fingerprint: 'bench' };
  const client = new ApnsClient({ host, ca, credentials, logger: createLogger('error') });
  try {
    return await measurePushes(amount, async (id) => {
      const push = { token: tokenOf(id), pushMagic: magicOf(id), topic };
      return (await client.push(push)).status === 200;
    });
  } finally {
    await client.close();
  }
}

function push(session: ClientHttp2Session, { topic }: PushTarget, id: number): Promise<boolean> {
  return new Promise((resolve) => {
    const stream = session.request({
      ':method': 'POST',
      ':path': `/3/device/${tokenOf(id)}`,
      'apns-topic': topic,
      'apns-push-type': 'mdm',
      'apns-priority': '10',
      'apns-expiration': String(Math.floor(Date.now() / 1000) + 86_400),
    });
    let status = 0;
    stream.on('response', (headers) => {
      status = Number(headers[':status']);
    });
    stream.on('error', () => resolve(false));
    stream.on('close', () => resolve(status === 200));
    stream.resume();
    stream.end(`{"mdm":"${magicOf(id)}"}`);
  });
}

function ready(session: ClientHttp2Session): Promise<void> {
  return new Promise((resolve, reject) => {
    session.once('error', reject);
    session.once('remoteSettings', () => resolve());
  });
}
