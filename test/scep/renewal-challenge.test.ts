import type { KeyPair } from '../../src/crypto/keys/keys.js';
import { promoteRenewal } from '../../src/db/device-path/check-ins.js';
import { lockHolder, revokePins } from '../../src/db/pki/identity-revocation.js';
import { renewalTime } from '../../src/pki/authority/authority.js';
import { FailInfo } from '../../src/protocol/scep/scep.js';
import { type Identity, rsaIdentity } from '../crypto/identities.js';
import { nextKeys } from '../helpers/prepared-keys.js';
import { eventually } from '../push/push-fixture.js';
import {
  ask,
  csrOf,
  deviceCertificates,
  issuedIn,
  liveCertificates,
  type ScepServer,
  startScepServer,
} from './scep-server.js';

const REFUSED = { status: 'failure', failInfo: FailInfo.badRequest };
const OLD = Buffer.alloc(32, 1);
let server: ScepServer;
let signer: Identity;
let keys: KeyPair;
let otherKeys: KeyPair;
let deviceId: number;

beforeAll(async () => {
  [server, signer, otherKeys] = await Promise.all([startScepServer(), rsaIdentity(), nextKeys()]);
  keys = signer;
});
afterAll(() => server.drop());

beforeEach(async () => {
  const { knex } = server.db;
  for (const table of ['devices', 'device_identities']) await knex(table).delete();
  await knex('certificates').where({ purpose: 'mdm.device' }).delete();
  const device = { udid: 'UDID-1', enrollment_state: 'enrolled', enrollment_number: 3 };
  const [row] = await knex('devices').insert(device, 'id');
  deviceId = row.id;
  const pin = { fingerprint: OLD, device_id: deviceId, udid: 'UDID-1', state: 'active' };
  await knex('device_identities').insert(pin);
});

function challengeFor(enrollmentNumber = 3): string {
  return server.challenges.issueChallenge({ renewal: { deviceId, enrollmentNumber } });
}

function request(challengePassword: string, pair = keys) {
  return ask(server, { csr: csrOf(pair, { challengePassword }), signer });
}

function pins() {
  return server.db.knex('device_identities').orderBy('created_at');
}

async function expectRefusal(challenge: string, reason: string): Promise<void> {
  expect(await request(challenge)).toMatchObject(REFUSED);
  expect(server.lastReason()).toBe(reason);
  expect(await deviceCertificates(server)).toEqual([]);
  expect(await server.db.knex('scep_challenges')).toEqual([]);
}

describe('a challenge that renews an identity', () => {
  it.each([2, 4])(
    'is refused for enrollment %d when the third is the present one',
    async (other) => {
      await expectRefusal(challengeFor(other), 'the enrollment of this challenge is over');
    },
  );

  it('is refused when the device is gone', async () => {
    const challenge = challengeFor();
    await server.db.knex('devices').delete();
    await expectRefusal(challenge, 'the enrollment of this challenge is over');
  });

  it('is refused when the device has unenrolled', async () => {
    await server.db.knex('devices').update({ enrollment_state: 'unenrolled' });
    await expectRefusal(challengeFor(), 'the enrollment of this challenge is over');
  });

  it.each(['revoked', 'superseded', 'tombstone'])(
    'is refused when the identity of the device is %s',
    async (state) => {
      await pins().update({ state });
      await expectRefusal(challengeFor(), 'the enrollment of this challenge is over');
    },
  );

  it('yields a certificate that is pinned to the device until it is used', async () => {
    const renewed = issuedIn(await request(challengeFor()));
    expect(await pins().select('fingerprint', 'device_id', 'state', 'udid')).toEqual([
      { fingerprint: OLD, device_id: deviceId, state: 'active', udid: 'UDID-1' },
      {
        fingerprint: renewed.fingerprint,
        device_id: deviceId,
        state: 'renewal',
        udid: 'UDID-1',
      },
    ]);
    const [, pin] = await pins();
    expect(pin).toMatchObject({ not_after: renewed.notAfter, renew_at: renewalTime(renewed) });
    expect((await liveCertificates(server)).map(({ der }) => der)).toEqual([renewed.der]);
  });

  it('yields the same certificate for the same request, also concurrently', async () => {
    const challenge = challengeFor();
    const answers = await Promise.all([1, 2, 3].map(() => request(challenge)));
    answers.push(await request(challenge));
    expect(new Set(answers.map((answer) => issuedIn(answer).serialHex)).size).toBe(1);
    expect(await pins()).toHaveLength(2);
  });

  it('replaces an unused certificate, which is then revoked', async () => {
    const challenge = challengeFor();
    const first = issuedIn(await request(challenge));
    const second = issuedIn(await request(challenge, otherKeys));
    expect(await pins().select('fingerprint', 'state')).toEqual([
      { fingerprint: OLD, state: 'active' },
      { fingerprint: first.fingerprint, state: 'revoked' },
      { fingerprint: second.fingerprint, state: 'renewal' },
    ]);
    expect((await liveCertificates(server)).map(({ der }) => der)).toEqual([second.der]);
    await promoteRenewal(server.db, first.fingerprint);
    expect(await pins().pluck('state')).toEqual(['active', 'revoked', 'renewal']);
  });

  it('replaces the unused certificate of another challenge', async () => {
    const challenges = [challengeFor(), challengeFor()] as const;
    const first = issuedIn(await request(challenges[0]));
    const second = issuedIn(await request(challenges[1], otherKeys));
    expect(await pins().pluck('state')).toEqual(['active', 'revoked', 'renewal']);
    expect((await liveCertificates(server)).map(({ der }) => der)).toEqual([second.der]);
    const row = server.db.knex('certificates').where({ fingerprint: first.fingerprint });
    expect(await row.first('revocation_reason')).toEqual({ revocation_reason: 'superseded' });
    for (const pair of [keys, otherKeys]) {
      expect(await request(challenges[0], pair)).toMatchObject(REFUSED);
      expect(server.lastReason()).toBe('the certificate of this challenge was revoked');
    }
    expect(await pins().pluck('state')).toEqual(['active', 'revoked', 'renewal']);
  });

  it('leaves one unused certificate when challenges are used at once', async () => {
    const asked = [keys, otherKeys, keys, otherKeys].map((pair) => request(challengeFor(), pair));
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    expect(statuses).toEqual(['success', 'success', 'success', 'success']);
    expect((await pins().pluck('state')).filter((state) => state === 'renewal')).toHaveLength(1);
    expect(await liveCertificates(server)).toHaveLength(1);
  });

  it('is refused when the identity is revoked concurrently', async () => {
    const revocation = await server.db.knex.transaction();
    await lockHolder(revocation, OLD);
    const states = ['active', 'renewal'] as const;
    await revokePins(revocation, { deviceId, states, reason: 'keyCompromise' });
    const asked = request(challengeFor());
    await eventually(async () => {
      const { rows } = await server.db.pool.query(`select from pg_stat_activity
        where wait_event_type = 'Lock' and datname = current_database()`);
      expect(rows).toHaveLength(1);
    });
    await revocation.commit();
    expect(await asked).toMatchObject(REFUSED);
    expect(server.lastReason()).toBe('the enrollment of this challenge is over');
    expect(await pins().pluck('state')).toEqual(['revoked']);
  });

  it('is spent once its certificate was used', async () => {
    const challenge = challengeFor();
    const first = issuedIn(await request(challenge));
    await promoteRenewal(server.db, first.fingerprint);
    expect(await request(challenge, otherKeys)).toMatchObject(REFUSED);
    expect(server.lastReason()).toBe('the challenge is spent');
    expect(await pins().pluck('state')).toEqual(['superseded', 'active']);
    expect((await liveCertificates(server)).map(({ der }) => der)).toEqual([first.der]);
    expect(issuedIn(await request(challenge)).der).toEqual(first.der);
  });

  it('leaves one certificate when it is used and requested again concurrently', async () => {
    for (let round = 0; round < 5; round += 1) {
      const challenge = challengeFor();
      const first = issuedIn(await request(challenge));
      const [answer] = await Promise.all([
        request(challenge, otherKeys),
        promoteRenewal(server.db, first.fingerprint),
      ]);
      const row = await server.db
        .knex('device_identities')
        .where({ fingerprint: first.fingerprint })
        .first('state');
      expect([answer.status, row?.state]).toEqual(
        answer.status === 'success' ? ['success', 'revoked'] : ['failure', 'active'],
      );
      await server.db.knex('scep_challenges').delete();
    }
  });
});
