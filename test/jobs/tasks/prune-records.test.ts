import { randomBytes } from 'node:crypto';
import type { Knex } from 'knex';
import { createPruneRecordsTask } from '../../../src/jobs/tasks/batch-tasks.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import { capturingLogger } from '../../http/log-lines.js';
import { runTask } from './run-task.js';

const { logger } = capturingLogger();
let test: TestDatabase;
let knex: Knex;

beforeAll(async () => {
  test = await createTestDatabase();
  knex = test.db.knex;
});
afterAll(() => test.drop());

const prune = () =>
  runTask(createPruneRecordsTask({ db: test.db, logger, changeRetention: undefined }));

function ago(span: string): Knex.Raw {
  return knex.raw('now() - ?::interval', [span]);
}

function idempotencyKey(key: string, age: string) {
  return { actor: 'a', key, request_digest: Buffer.of(1), created_at: ago(age) };
}

async function insertCertificate(columns: Record<string, unknown>) {
  const row = {
    subject: 'CN=x',
    issuer: 'CN=x',
    serial: '1',
    der: Buffer.of(0),
    not_before: new Date(0),
    not_after: new Date(),
    fingerprint: randomBytes(32),
  };
  const [{ id, fingerprint }] = await knex('certificates').insert({ ...row, ...columns }, [
    'id',
    'fingerprint',
  ]);
  return { id, fingerprint };
}

async function insertChallenge(nonce: string, isPinned: boolean, locked_at: Knex.Raw | null) {
  const { id, fingerprint } = await insertCertificate({ purpose: 'mdm.device' });
  if (isPinned) await knex('device_identities').insert({ fingerprint, state: 'active' });
  await knex('scep_challenges').insert({
    nonce: Buffer.from(nonce),
    csr_fingerprint: Buffer.of(1),
    certificate_id: id,
    used_at: ago('90 days'),
    locked_at,
  });
}

interface Ages {
  created: string;
  expires?: string;
  enrolled?: string;
}

/** With a certificate, when one is given; returns its fingerprint. */
async function insertRequest(
  serial_number: string,
  { created, expires = '1 seconds', enrolled }: Ages,
  certificate?: Record<string, unknown>,
): Promise<Buffer | undefined> {
  const times = { created_at: ago(created), expires_at: ago(expires) };
  const enrolled_at = enrolled === undefined ? null : ago(enrolled);
  const request = { method: 'ota', serial_number, ...times, enrolled_at };
  const [{ id }] = await knex('enrollment_requests').insert(request, 'id');
  if (certificate === undefined) return undefined;
  const issued = await insertCertificate({ purpose: 'mdm.device', ...certificate });
  await knex('scep_challenges').insert({
    nonce: randomBytes(16),
    csr_fingerprint: Buffer.of(1),
    certificate_id: issued.id,
    enrollment_request_id: id,
  });
  return issued.fingerprint;
}

async function requestsLeft(): Promise<string[]> {
  return await knex('enrollment_requests').orderBy('serial_number').pluck('serial_number');
}

describe('the pruning of records', () => {
  it('removes idempotency keys a day and an hour old, and no younger ones', async () => {
    await knex('idempotency_keys').insert([
      idempotencyKey('old', '25 hours 1 second'),
      idempotencyKey('just over', '24 hours 59 minutes'),
      idempotencyKey('new', '0 seconds'),
    ]);
    await prune();
    const kept = ['just over', 'new'];
    expect(await knex('idempotency_keys').orderBy('key').pluck('key')).toEqual(kept);
    await prune();
    expect(await knex('idempotency_keys').orderBy('key').pluck('key')).toEqual(kept);
  });

  it('removes payloads of commands that no command refers to any more, in batches', async () => {
    const payloads = Array.from({ length: 50 }, (_, index) => {
      return {
        sha256: Buffer.alloc(32, index),
        body: Buffer.of(index),
        created_at: ago('25 hours'),
      };
    });
    const young = { sha256: randomBytes(32), body: Buffer.from('young') };
    await knex('command_payloads').insert([...payloads, young]);
    const [{ id: device_id }] = await knex('devices').insert({}, 'id');
    const command = { uuid: crypto.randomUUID(), device_id, request_type: 'InstallProfile' };
    await knex('commands').insert({ ...command, payload_sha256: Buffer.alloc(32, 7) });
    await prune();
    const kept = await knex('command_payloads').orderBy('body').pluck('body');
    expect(kept).toEqual([Buffer.of(7), Buffer.from('young')]);
    await knex('devices').delete();
  });

  it('does not wait for a write that reuses an old key', async () => {
    await knex('idempotency_keys').delete();
    await knex('idempotency_keys').insert(idempotencyKey('taken', '30 hours'));
    const write = await knex.transaction();
    await write('idempotency_keys').update({ created_at: knex.fn.now() });
    await prune();
    await write.commit();
    await prune();
    expect(await knex('idempotency_keys').pluck('key')).toEqual(['taken']);
  });

  it('removes thousands of idempotency keys in one run', async () => {
    await knex('idempotency_keys').delete();
    await knex.raw(`insert into idempotency_keys (actor, key, request_digest, created_at)
      select 'a', n::text, '', now() - interval '2 days' from generate_series(1, 2100) n`);
    await prune();
    expect(await knex('idempotency_keys').count()).toEqual([{ count: 0 }]);
  });

  it('removes challenges spent long ago whose certificate is pinned, and no others', async () => {
    await insertChallenge('spent long ago', true, ago('31 days'));
    await insertChallenge('spent of late', true, ago('29 days'));
    await insertChallenge('never spent', true, null);
    await insertChallenge('not pinned', false, ago('31 days'));
    await prune();
    const kept = ['never spent', 'not pinned', 'spent of late'];
    const nonces = async () => {
      const rows: Buffer[] = await knex('scep_challenges').orderBy('nonce').pluck('nonce');
      return rows.map(String);
    };
    expect(await nonces()).toEqual(kept);
    await prune();
    expect(await nonces()).toEqual(kept);
    expect(await knex('certificates').where({ purpose: 'mdm.device' })).toHaveLength(4);
    expect(await knex('device_identities')).toHaveLength(3);
  });

  it('removes enrollment requests that were abandoned or completed long ago, and no others', async () => {
    await insertRequest('given up', { created: '31 days' });
    await insertRequest('young', { created: '29 days' });
    await insertRequest('open for long', { created: '31 days', expires: '-1 hours' });
    await insertRequest('enrolled long ago', { created: '100 days', enrolled: '91 days' });
    await insertRequest('enrolled of late', { created: '100 days', enrolled: '89 days' });
    const kept = ['enrolled of late', 'open for long', 'young'];
    await prune();
    expect(await requestsLeft()).toEqual(kept);
    await prune();
    expect(await requestsLeft()).toEqual(kept);
  });

  it('keeps requests as long as one of their certificates could enroll a device', async () => {
    await knex('enrollment_requests').delete();
    const tomorrow = new Date(Date.now() + 86_400_000);
    const old = { created: '200 days', enrolled: '199 days' };
    await insertRequest('live', { created: '31 days' }, { not_after: tomorrow });
    await insertRequest('live beside the pinned one', old, { not_after: tomorrow });
    await insertRequest('revoked', old, { not_after: tomorrow, revoked_at: new Date() });
    await insertRequest('expired', { created: '31 days' }, { not_after: new Date() });
    const pinned = await insertRequest('pinned', old, { not_after: tomorrow });
    await knex('device_identities').insert({ fingerprint: pinned, state: 'active' });
    await prune();
    expect(await requestsLeft()).toEqual(['live', 'live beside the pinned one']);
  });

  it('removes blocks of topics without a certificate, revoked ones not counted', async () => {
    const push = (push_topic: string) => ({ purpose: 'mdm.pushcert', push_topic });
    await insertCertificate(push('com.apple.mgmt.kept'));
    await insertCertificate({ ...push('com.apple.mgmt.revoked'), revoked_at: new Date() });
    await insertCertificate({ purpose: 'mdm.webcrt', push_topic: 'com.apple.mgmt.other' });
    const topics = ['kept', 'revoked', 'other', 'gone'].map((name) => `com.apple.mgmt.${name}`);
    await knex('push_topics').insert(
      topics.map((topic) => ({ topic, blocked_reason: 'x', retry_at: new Date() })),
    );
    await prune();
    expect(await knex('push_topics').pluck('topic')).toEqual(['com.apple.mgmt.kept']);
    await prune();
    expect(await knex('push_topics').pluck('topic')).toEqual(['com.apple.mgmt.kept']);
  });

  it('keeps tokens, audit, commands and escrow, however old', async () => {
    const created_at = ago('10 years');
    const old = { token_hash: Buffer.of(1), name: 'x', role: 'viewer', created_at };
    await knex('tokens').insert({ ...old, revoked_at: created_at, expires_at: created_at });
    const event = { actor: 'a', role: 'admin', action: 'x', target_type: 'x' };
    await knex('audit_events').insert({ ...event, at: created_at });
    const [{ id: device_id }] = await knex('devices').insert({ udid: 'x', created_at }, 'id');
    await knex('commands').insert({
      uuid: crypto.randomUUID(),
      device_id,
      request_type: 'x',
      status: 'Acknowledged',
      queued_at: created_at,
      payload: Buffer.of(0),
    });
    const escrow = { enrollment_number: 1, kind: 'unlock_token', sealed: Buffer.of(0) };
    await knex('device_secrets').insert({ device_id, ...escrow, created_at });
    await prune();
    for (const table of ['tokens', 'audit_events', 'commands', 'device_secrets', 'devices']) {
      expect(await knex(table)).toHaveLength(1);
    }
  });
});
