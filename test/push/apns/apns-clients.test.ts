import { createLogger } from '../../../src/logger.js';
import { ApnsClients } from '../../../src/push/apns/apns-clients.js';
import type { ApnsCredentials } from '../../../src/push/apns/apns-connect.js';
import type { Identity } from '../../crypto/identities.js';
import {
  type ApnsService,
  createAuthority,
  createCredentials,
  delivered,
  pemOf,
  type Received,
  startService,
  TOPIC,
} from './apns-service.js';

const push = { token: 'ab', pushMagic: 'magic', topic: TOPIC };

let authority: Identity;
let service: ApnsService;
let first: ApnsCredentials;
let second: ApnsCredentials;
let stored: Map<string, ApnsCredentials>;
let loads: string[];
let lines: string[];
let clients: ApnsClients;

beforeAll(async () => {
  authority = await createAuthority();
  first = await createCredentials(authority);
  second = await createCredentials(authority);
});

beforeEach(async () => {
  service = await startService({ authority });
  stored = new Map([[TOPIC, first]]);
  loads = [];
  lines = [];
  clients = new ApnsClients({
    host: service.host,
    ca: pemOf(authority).cert,
    logger: createLogger('info', { write: (line: string) => lines.push(line) }),
    load: async (topic) => {
      loads.push(topic);
      return stored.get(topic);
    },
  });
});

afterEach(async () => {
  await clients.close();
  await service.close();
});

/** The client certificate of each connection, in order. */
function certificatesSeen(): (string | undefined)[] {
  return service.sessions.map(({ socket }) => {
    const { fingerprint256 } = (socket as import('node:tls').TLSSocket).getPeerCertificate();
    return fingerprint256.replaceAll(':', '').toLowerCase();
  });
}

describe('the clients', () => {
  it('are undefined for a topic without a certificate, which is loaded once', async () => {
    expect(await clients.forTopic('com.apple.mgmt.other')).toBeUndefined();
    expect(await clients.forTopic('com.apple.mgmt.other')).toBeUndefined();
    expect(loads).toEqual(['com.apple.mgmt.other']);
  });

  it('load such a topic again after a refresh', async () => {
    stored.clear();
    expect(await clients.forTopic(TOPIC)).toBeUndefined();
    stored.set(TOPIC, first);
    await clients.refresh();
    expect((await (await clients.forTopic(TOPIC))?.push(push))?.status).toBe(200);
    expect(loads).toEqual([TOPIC, TOPIC]);
  });

  it('are one for each topic, loaded once however many callers ask at once', async () => {
    stored.set('com.apple.mgmt.other', { ...second, topic: 'com.apple.mgmt.other' });
    const asked = [TOPIC, TOPIC, 'com.apple.mgmt.other', TOPIC];
    const [one, same, other, again] = await Promise.all(asked.map((t) => clients.forTopic(t)));
    expect(one).toBeDefined();
    expect(same).toBe(one);
    expect(again).toBe(one);
    expect(other).not.toBe(one);
    expect(loads).toEqual([TOPIC, 'com.apple.mgmt.other']);
  });

  it('keep a client whose certificate is the same', async () => {
    const client = await clients.forTopic(TOPIC);
    await clients.refresh();
    expect(await clients.forTopic(TOPIC)).toBe(client);
    expect(lines).toEqual([]);
  });

  it('push with a new certificate while pushes with the former one are finished', async () => {
    const former = await clients.forTopic(TOPIC);
    const held = new Promise<Received>((resolve) => {
      service.reply = resolve;
    });
    const underWay = former?.push(push);
    const received = await held;
    service.reply = delivered;
    stored.set(TOPIC, second);
    await clients.refresh();
    const latter = await clients.forTopic(TOPIC);
    expect(latter).not.toBe(former);
    expect((await latter?.push(push))?.status).toBe(200);
    expect(certificatesSeen()).toEqual([first.fingerprint, second.fingerprint]);
    delivered(received);
    expect((await underWay)?.status).toBe(200);
    await expect(former?.push(push)).rejects.toMatchObject({ kind: 'unreachable' });
    expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual([
      'push certificate changed',
    ]);
  });

  it('close a client whose certificate was removed', async () => {
    const client = await clients.forTopic(TOPIC);
    stored.clear();
    await clients.refresh();
    expect(await clients.forTopic(TOPIC)).toBeUndefined();
    await expect(client?.push(push)).rejects.toMatchObject({ kind: 'unreachable' });
  });

  it('stay unchanged when the certificates cannot be read', async () => {
    const broken = new ApnsClients({
      host: service.host,
      logger: createLogger('silent'),
      ca: pemOf(authority).cert,
      load: async () => {
        if (loads.push('') !== 2) return first;
        throw new Error('the database is away');
      },
    });
    const client = await broken.forTopic(TOPIC);
    await expect(broken.refresh()).rejects.toThrow('the database is away');
    expect(await broken.forTopic(TOPIC)).toBe(client);
    await broken.refresh();
    expect(await broken.forTopic(TOPIC)).toBe(client);
    await broken.close();
  });

  it('reject the call that failed to load, and load again for the next one', async () => {
    const failing = new ApnsClients({
      host: service.host,
      logger: createLogger('silent'),
      load: async () => {
        if (loads.push('') > 1) return first;
        throw new Error('the database is away');
      },
    });
    await expect(failing.forTopic(TOPIC)).rejects.toThrow('the database is away');
    expect(await failing.forTopic(TOPIC)).toBeDefined();
    await failing.close();
  });

  it('never replace a later certificate with an earlier one', async () => {
    const answers: ((credentials: ApnsCredentials) => void)[] = [];
    const slow = new ApnsClients({
      host: service.host,
      logger: createLogger('silent'),
      ca: pemOf(authority).cert,
      load: () => new Promise((resolve) => answers.push(resolve)),
    });
    const client = slow.forTopic(TOPIC);
    const refreshed = slow.refresh();
    for (const [index, credentials] of [first, second].entries()) {
      while (answers.length <= index) await new Promise(setImmediate);
      answers[index]?.(credentials);
    }
    await client;
    await refreshed;
    expect((await (await slow.forTopic(TOPIC))?.push(push))?.status).toBe(200);
    expect(certificatesSeen()).toEqual([second.fingerprint]);
    await slow.close();
  });

  it('accept no pushes once they are closed', async () => {
    const client = await clients.forTopic(TOPIC);
    await clients.close();
    await expect(client?.push(push)).rejects.toMatchObject({ kind: 'unreachable' });
    await expect(clients.forTopic('com.apple.mgmt.other')).rejects.toMatchObject({
      code: 'unavailable',
      status: 503,
    });
  });
});
