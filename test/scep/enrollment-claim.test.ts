import { generateRsaKeyPair, type KeyPair } from '../../src/crypto/keys.js';
import { findExchange } from '../../src/db/enrollment-claim-repository.js';
import {
  type EnrollmentRequest,
  insertEnrollmentRequest,
} from '../../src/db/enrollment-request-repository.js';
import type { ChallengeOptions } from '../../src/pki/enrollment-challenge.js';
import { FailInfo } from '../../src/protocol/scep.js';
import { type Identity, rsaIdentity } from '../crypto/identities.js';
import { addLink } from '../mdm/request-world.js';
import {
  ask,
  csrOf,
  deviceCertificates,
  issuedIn,
  type ScepServer,
  startScepServer,
} from './scep-server.js';

const HOUR = 3_600_000;
const later = () => new Date(Date.now() + HOUR);
const earlier = () => new Date(Date.now() - HOUR);

let server: ScepServer;
let signer: Identity;
let others: KeyPair[];

beforeAll(async () => {
  [server, signer, ...others] = await Promise.all([
    startScepServer(),
    rsaIdentity(),
    ...[1, 2].map(() => generateRsaKeyPair(2048)),
  ]);
});
afterAll(() => server.drop());
beforeEach(async () => {
  await server.db.knex('certificates').where({ purpose: 'mdm.device' }).delete();
  await server.db.knex('enrollment_requests').delete();
  await server.db.knex('enrollment_links').delete();
});

const challenge = (options: ChallengeOptions) => server.challenges.issueChallenge(options);

const askWith = (challengePassword: string, keys: KeyPair = signer) =>
  ask(server, { csr: csrOf(keys, { challengePassword }), signer });

async function issueWith(challengePassword: string, keys?: KeyPair) {
  return issuedIn(await askWith(challengePassword, keys));
}

function addRequest(request: Partial<EnrollmentRequest> = {}): Promise<number> {
  const usual = { method: 'automated', expires_at: later() } as const;
  return insertEnrollmentRequest(server.db.knex, { ...usual, ...request });
}

const requestRow = (id: number) => server.db.knex('enrollment_requests').where({ id }).first();
const usesOf = async (id: number): Promise<number> =>
  (await server.db.knex('enrollment_links').where({ id }).first('uses')).uses;
const idOf = async ({ fingerprint }: { fingerprint: Buffer }): Promise<number> =>
  (await server.db.knex('certificates').where({ fingerprint }).first('id')).id;

async function expectRefusal(challengePassword: string, reason: string, keys?: KeyPair) {
  const { knex } = server.db;
  const before = [await deviceCertificates(server), await knex('enrollment_links').orderBy('id')];
  const answer = await askWith(challengePassword, keys);
  expect(answer).toEqual({ status: 'failure', failInfo: FailInfo.badRequest });
  expect(server.lastReason()).toBe(reason);
  const after = [await deviceCertificates(server), await knex('enrollment_links').orderBy('id')];
  expect(after).toEqual(before);
}

describe('a challenge of an enrollment request', () => {
  it('is refused when the request is gone, has expired, or has enrolled its device', async () => {
    const gone = await addRequest();
    await server.db.knex('enrollment_requests').where({ id: gone }).delete();
    const expired = await addRequest({ expires_at: earlier() });
    const done = await addRequest();
    const { knex } = server.db;
    await knex('enrollment_requests').where({ id: done }).update({ enrolled_at: new Date() });
    const refusals: [number, string][] = [
      [gone, 'the enrollment request of this challenge is gone'],
      [expired, 'the enrollment request of this challenge has expired'],
      [done, 'the enrollment request has enrolled its device'],
    ];
    for (const [requestId, reason] of refusals)
      await expectRefusal(challenge({ requestId }), reason);
    expect(await knex('scep_challenges')).toEqual([]);
  });

  it('is kept beside the certificate with the request and its link', async () => {
    const linkId = await addLink(server);
    const requestId = await addRequest({ enrollment_link_id: linkId });
    const certificate = await issueWith(challenge({ requestId }));
    expect(await server.db.knex('scep_challenges')).toEqual([
      expect.objectContaining({
        certificate_id: await idOf(certificate),
        enrollment_request_id: requestId,
        enrollment_link_id: linkId,
      }),
    ]);
    expect(await requestRow(requestId)).toMatchObject({ certificate_id: null });
  });

  it('is answered once more after the request has enrolled, with the same certificate', async () => {
    const requestId = await addRequest();
    const text = challenge({ requestId });
    const csr = csrOf(signer, { challengePassword: text });
    const first = issuedIn(await ask(server, { csr, signer }));
    await server.db.knex('enrollment_requests').update({ enrolled_at: new Date() });
    expect(issuedIn(await ask(server, { csr, signer })).der).toEqual(first.der);
  });
});

describe('the first certificate of a request over the air', () => {
  it('is the one of the exchange, the second is not', async () => {
    const requestId = await addRequest({ method: 'ota', udid: 'U' });
    const first = await issueWith(challenge({ requestId }));
    const second = await issueWith(challenge({ requestId }));
    expect(await requestRow(requestId)).toMatchObject({ certificate_id: await idOf(first) });
    expect(await findExchange(server.db.knex, first.fingerprint)).toEqual({
      request: await requestRow(requestId),
      is_expired: false,
      revoked_at: null,
    });
    expect(await findExchange(server.db.knex, second.fingerprint)).toBeUndefined();
  });

  it('is replaced by another one for the same challenge', async () => {
    const requestId = await addRequest({ method: 'ota' });
    const text = challenge({ requestId });
    const first = await issueWith(text);
    const second = await issueWith(text, others[0]);
    expect(await requestRow(requestId)).toMatchObject({ certificate_id: await idOf(second) });
    expect(await findExchange(server.db.knex, first.fingerprint)).toBeUndefined();
  });

  it('says when its request is over, and when it was revoked', async () => {
    const requestId = await addRequest({ method: 'ota' });
    const { fingerprint } = await issueWith(challenge({ requestId }));
    const revoked_at = new Date('2026-01-02T03:04:05Z');
    await server.db.knex('certificates').where({ fingerprint }).update({ revoked_at });
    await server.db.knex('enrollment_requests').update({ expires_at: earlier() });
    const exchange = await findExchange(server.db.knex, fingerprint);
    expect(exchange).toMatchObject({ is_expired: true, revoked_at });
  });
});

describe('a challenge of a link', () => {
  it('is refused when the link is disabled, expired, spent or gone', async () => {
    const { knex } = server.db;
    const [disabled, expired] = [await addLink(server), await addLink(server)];
    await knex('enrollment_links').where({ id: disabled }).update({ is_disabled: true });
    await knex('enrollment_links').where({ id: expired }).update({ expires_at: earlier() });
    const spent = await addLink(server, { max_uses: 1 });
    await issueWith(challenge({ linkId: spent }));
    const gone = await addLink(server);
    await knex('enrollment_links').where({ id: gone }).delete();
    const refusals: [number, string][] = [
      [disabled, `the enrollment link ${disabled} is disabled`],
      [expired, `the enrollment link ${expired} is expired`],
      [spent, `the enrollment link ${spent} is spent`],
      [gone, 'the enrollment link of this challenge was deleted'],
    ];
    for (const [linkId, reason] of refusals) await expectRefusal(challenge({ linkId }), reason);
  });

  it('counts one use, however often SCEP is asked with it', async () => {
    const linkId = await addLink(server, { max_uses: 1 });
    const text = challenge({ linkId });
    await issueWith(text);
    await issueWith(text);
    await issueWith(text, others[0]);
    expect(await usesOf(linkId)).toBe(1);
    const link = await server.db.knex('enrollment_links').where({ id: linkId }).first();
    expect(link.last_used_at).toBeInstanceOf(Date);
  });

  it('counts one use for all certificates of a request', async () => {
    const linkId = await addLink(server, { max_uses: 1 });
    const requestId = await addRequest({ method: 'ota', enrollment_link_id: linkId });
    await issueWith(challenge({ requestId, linkId }));
    await issueWith(challenge({ requestId, linkId }));
    expect(await usesOf(linkId)).toBe(1);
    await expectRefusal(challenge({ linkId }), `the enrollment link ${linkId} is spent`);
  });

  it('yields nothing more once the link is disabled', async () => {
    const linkId = await addLink(server);
    const text = challenge({ linkId });
    await issueWith(text);
    await server.db.knex('enrollment_links').update({ is_disabled: true });
    await expectRefusal(text, `the enrollment link ${linkId} is disabled`, others[0]);
  });

  it('is used no more often than it may be by those who come at once', async () => {
    const linkId = await addLink(server, { max_uses: 2 });
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => askWith(challenge({ linkId }))),
    );
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual(['failure', 'failure', 'failure', 'success', 'success']);
    expect(await usesOf(linkId)).toBe(2);
    expect(await deviceCertificates(server)).toHaveLength(2);
  });
});
