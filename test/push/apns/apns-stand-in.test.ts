import type { Identity } from '../../../src/crypto/x509/certificate.js';
import { type ApnsStandIn, startApnsStandIn } from '../../../src/lab/apns/apns-stand-in.js';
import {
  certificatePem,
  createLabAuthority,
  issuePushCertificate,
  type LabAuthority,
} from '../../../src/lab/pki/lab-authority.js';
import { createLogger } from '../../../src/logger.js';
import { judge } from '../../../src/protocol/apns.js';
import { ApnsClient } from '../../../src/push/apns/apns-client.js';

const TOKEN = 'ab'.repeat(32);

let authority: LabAuthority;
let issued: Identity & { topic: string };
let standIn: ApnsStandIn;
let client: ApnsClient;

function connect(certificate: Identity & { topic: string }): ApnsClient {
  return new ApnsClient({
    host: standIn.url,
    ca: standIn.caPem,
    logger: createLogger('silent'),
    credentials: {
      topic: certificate.topic,
      certificate: certificatePem(certificate),
      privateKey: certificate.privateKey,
      fingerprint: certificate.certificate.fingerprint.toString('hex'),
    },
  });
}

function push(token = TOKEN, topic = issued.topic) {
  return client.push({ token, pushMagic: 'magic', topic });
}

beforeAll(async () => {
  authority = await createLabAuthority();
  issued = await issuePushCertificate(authority);
});

beforeEach(async () => {
  standIn = await startApnsStandIn({ authority });
  client = connect(issued);
});

afterEach(async () => {
  await client.close();
  await standIn.close();
});

describe("the client and the lab's stand-in", () => {
  it('agree on a push', async () => {
    expect(await push()).toMatchObject({ status: 200, reason: null });
    expect(standIn.report()).toMatchObject({ total: 1 });
  });

  it('agree on a bad token and a foreign topic', async () => {
    expect(await push('zz')).toMatchObject({ status: 400, reason: 'BadDeviceToken' });
    const foreign = await push(TOKEN, 'com.apple.mgmt.other');
    expect(judge(foreign)).toBe('certificate');
  });

  it.each([
    [429, 'TooManyRequests', 'retry'],
    [503, 'ServiceUnavailable', 'retry'],
    [410, 'Unregistered', 'unregistered'],
    [403, 'BadCertificate', 'certificate'],
    [413, 'PayloadTooLarge', 'rejected'],
  ])('agree on %d %s', async (status, reason, verdict) => {
    standIn.addAnswer({ status, reason, times: 1, retryAfter: 3, timestamp: 1_700_000_000_000 });
    const answer = await push();
    expect(answer).toMatchObject({ status, reason, retryAfter: 3 });
    expect(answer.timestamp).toBe(status === 410 ? 1_700_000_000_000 : null);
    expect(judge(answer)).toBe(verdict);
    expect((await push()).status).toBe(200);
  });

  it('lose nothing of 2,000 pushes while every connection gets a GOAWAY', async () => {
    const tokens = Array.from({ length: 2000 }, (_, index) => index.toString(16).padStart(64, '0'));
    await push();
    const pushed = tokens.map((token, index) => {
      if (index === 1000) setImmediate(() => standIn.goAway());
      return push(token);
    });
    const answers = await Promise.all(pushed);
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    expect(tokens.filter((token) => standIn.token(token) === undefined)).toEqual([]);
  });

  it('reconnect after the connections were reset', async () => {
    await push();
    standIn.destroyConnections();
    expect((await push()).status).toBe(200);
  });

  it('do not agree on the certificate of another CA', async () => {
    await client.close();
    client = connect(await issuePushCertificate(await createLabAuthority()));
    const outcome = await push().then(
      (answer) => judge(answer),
      (error: { kind: string }) => error.kind,
    );
    expect(outcome).toBe('certificate');
  });
});
