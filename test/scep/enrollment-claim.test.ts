import type { KeyPair } from '../../src/crypto/keys/keys.js';
import { findExchange } from '../../src/db/enroll/enrollment-claim-repository.js';
import {
  type EnrollmentRequest,
  insertEnrollmentRequest,
} from '../../src/db/enroll/enrollment-request-repository.js';
import type { ChallengeOptions } from '../../src/pki/authority/enrollment-challenge.js';
import { FailInfo } from '../../src/protocol/scep/scep.js';
import { type Identity, rsaIdentity } from '../crypto/identities.js';
import { nextKeys } from '../helpers/prepared-keys.js';
import { addLink } from '../mdm/request-fixture.js';
import {
  ask,
  csrOf,
  deviceCertificates,
  issuedIn,
  liveCertificates,
  type ScepServer,
  startScepServer,
} from './scep-server.js';

const HOUR = 3_600_000;
const ACCOUNT = 'alice@example.com';
const later = () => new Date(Date.now() + HOUR);
const earlier = () => new Date(Date.now() - HOUR);

let server: ScepServer;
let signer: Identity;
let others: KeyPair[];

beforeAll(async () => {
  [server, signer, ...others] = await Promise.all([
    startScepServer(),
    rsaIdentity(),
    ...[1, 2].map(() => nextKeys()),
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

/** The client gets `shown`, or else the logged reason. */
async function expectRefusal(
  challengePassword: string,
  reason: string,
  {
    keys,
    failInfoText = reason,
  }: { keys?: KeyPair | undefined; failInfoText?: string | undefined } = {},
) {
  const { knex } = server.db;
  const before = [await deviceCertificates(server), await knex('enrollment_links').orderBy('id')];
  const answer = await askWith(challengePassword, keys);
  expect(answer).toEqual({ status: 'failure', failInfo: FailInfo.badRequest, failInfoText });
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

  it('is recorded with the certificate, the request and its link', async () => {
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
    const fingerprint = certificate.fingerprint.toString('hex').slice(0, 16);
    expect(server.lastIssued()).toMatchObject({ requestId, linkId, fingerprint });
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

describe('a challenge of the exchange over the air', () => {
  const forExchange = (requestId: number) => challenge({ requestId, isExchange: true });
  const exchangeOf = ({ fingerprint }: { fingerprint: Buffer }) =>
    findExchange(server.db.knex, fingerprint);

  it('yields the certificate that continues the exchange; the challenge to enroll does not', async () => {
    const requestId = await addRequest({ method: 'ota', udid: 'U' });
    const first = await issueWith(forExchange(requestId));
    const second = await issueWith(challenge({ requestId }));
    expect(await requestRow(requestId)).toMatchObject({ certificate_id: await idOf(first) });
    const going = { is_expired: false, revoked_at: null };
    expect(await exchangeOf(first)).toEqual({ request: await requestRow(requestId), ...going });
    expect(await exchangeOf(second)).toBeUndefined();
    expect(await isExchange()).toEqual([true, false]);
  });

  const isExchange = () =>
    server.db.knex('scep_challenges').orderBy('certificate_id').pluck('is_exchange');

  it('stays one of the exchange when another challenge of its request is used first', async () => {
    const requestId = await addRequest({ method: 'ota' });
    const certificate = await issueWith(challenge({ requestId }));
    expect(await exchangeOf(certificate)).toBeUndefined();
    expect(await requestRow(requestId)).toMatchObject({ certificate_id: null });
  });

  it('yields another certificate that replaces the first', async () => {
    const requestId = await addRequest({ method: 'ota' });
    const text = forExchange(requestId);
    const first = await issueWith(text);
    const second = await issueWith(text, others[0]);
    expect(await requestRow(requestId)).toMatchObject({ certificate_id: await idOf(second) });
    expect(await exchangeOf(first)).toBeUndefined();
  });

  it('replaces the others of its request, of which one is valid at a time', async () => {
    const requestId = await addRequest({ method: 'ota' });
    const texts = Array.from({ length: 6 }, () => forExchange(requestId));
    const issued = await Promise.all(texts.map((text) => issueWith(text)));
    const live = await liveCertificates(server);
    expect(live).toHaveLength(1);
    const { certificate_id } = await requestRow(requestId);
    const revoked = await server.db.knex('certificates').whereNotNull('revoked_at');
    expect(revoked.map(({ revocation_reason }) => revocation_reason)).toEqual(
      Array.from({ length: 5 }, () => 'superseded'),
    );
    for (const certificate of issued) {
      const exchange = await exchangeOf(certificate);
      const isLive = (await idOf(certificate)) === certificate_id;
      expect(exchange?.revoked_at === null).toBe(isLive);
    }
    expect(await isExchange()).toEqual(issued.map(() => true));
  });

  it('is refused with the reason when its request is over, or its certificate revoked', async () => {
    const requestId = await addRequest({ method: 'ota' });
    const certificate = await issueWith(forExchange(requestId));
    const { fingerprint } = certificate;
    const revoked_at = new Date('2026-01-02T03:04:05Z');
    await server.db.knex('certificates').where({ fingerprint }).update({ revoked_at });
    await server.db.knex('enrollment_requests').update({ expires_at: earlier() });
    expect(await exchangeOf(certificate)).toMatchObject({ is_expired: true, revoked_at });
  });
});

describe('a device that retries with new keys', () => {
  const WHY = 'the challenge was used too often';
  const spend = (count: number) => server.db.knex('scep_challenges').update({ issued: count });

  it('gets ten more certificates by a challenge, and then only the last one again', async () => {
    const text = challenge({});
    const pairs = [signer, ...others];
    const csrs = Array.from({ length: 11 }, (_, index) => {
      const subject = [{ type: 'CN' as const, value: `Device ${index}` }];
      return csrOf(pairs[index % 3] ?? signer, { challengePassword: text, subject });
    });
    const leaves: Buffer[] = [];
    for (const csr of csrs) leaves.push(issuedIn(await ask(server, { csr, signer })).der);
    await expectRefusal(text, WHY, { keys: others[0] });
    const again = await ask(server, { csr: csrs.at(-1) ?? Buffer.alloc(0), signer });
    expect(issuedIn(again).der).toEqual(leaves.at(-1));
    expect(await liveCertificates(server)).toHaveLength(1);
  });

  it('gets no more by other challenges of the same request', async () => {
    const requestId = await addRequest({ method: 'account_device', account: ACCOUNT });
    await issueWith(challenge({ requestId }));
    await spend(10);
    await issueWith(challenge({ requestId }));
    await expectRefusal(challenge({ requestId }), WHY);
  });

  it('gets as many certificates for the over-the-air exchange as for the enrollment', async () => {
    const requestId = await addRequest({ method: 'ota' });
    const text = challenge({ requestId, isExchange: true });
    await issueWith(text);
    await spend(11);
    await expectRefusal(challenge({ requestId, isExchange: true }), WHY);
    await issueWith(challenge({ requestId }));
  });
});

describe('a challenge of the request of an account', () => {
  it('is refused while the account is disabled', async () => {
    const { knex } = server.db;
    const account = { account: ACCOUNT.toUpperCase(), password_hash: 'x' };
    await knex('enrollment_users').insert({ ...account, is_disabled: true });
    const requestId = await addRequest({ method: 'account_user', account: ACCOUNT });
    const other = await addRequest({ method: 'account_user', account: `not.${ACCOUNT}` });
    const text = challenge({ requestId });
    await expectRefusal(text, 'the account of the enrollment request is disabled');
    await issueWith(challenge({ requestId: other }));
    await knex('enrollment_users').update({ is_disabled: false });
    await issueWith(text);
    await knex('enrollment_users').delete();
  });

  it('is refused once the account is deleted or renamed, and valid for an account without a row', async () => {
    const { knex } = server.db;
    const WHY = 'the enrollment request of this challenge has expired';
    for (const change of ['delete', 'rename'] as const) {
      await knex('enrollment_users').insert({ account: ACCOUNT.toUpperCase(), password_hash: 'x' });
      const requestId = await addRequest({ method: 'account_user', account: ACCOUNT });
      const text = challenge({ requestId });
      if (change === 'rename') await knex('enrollment_users').update({ account: `new.${ACCOUNT}` });
      await knex('enrollment_users').delete();
      await expectRefusal(text, WHY);
    }
    const requestId = await addRequest({ method: 'account_user', account: ACCOUNT });
    await issueWith(challenge({ requestId }));
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
    const refusals: [number, string, string?][] = [
      [
        disabled,
        `the enrollment link ${disabled} is disabled`,
        'an administrator has disabled this link',
      ],
      [expired, `the enrollment link ${expired} is expired`, 'this link has expired'],
      [spent, `the enrollment link ${spent} is spent`, 'this link was used as often as it may be'],
      [gone, 'the enrollment link of this challenge was deleted'],
    ];
    for (const [linkId, reason, failInfoText] of refusals)
      await expectRefusal(challenge({ linkId }), reason, { failInfoText });
  });

  it('counts one use for any number of SCEP requests', async () => {
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
    const failInfoText = 'this link was used as often as it may be';
    const reason = `the enrollment link ${linkId} is spent`;
    await expectRefusal(challenge({ linkId }), reason, { failInfoText });
  });

  it('is refused once the link is disabled', async () => {
    const linkId = await addLink(server);
    const text = challenge({ linkId });
    await issueWith(text);
    await server.db.knex('enrollment_links').update({ is_disabled: true });
    const failInfoText = 'an administrator has disabled this link';
    const reason = `the enrollment link ${linkId} is disabled`;
    await expectRefusal(text, reason, { keys: others[0], failInfoText });
  });

  it('is not used more often than the link allows by concurrent requests', async () => {
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
