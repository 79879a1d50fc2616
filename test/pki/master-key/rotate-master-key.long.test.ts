import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { CommandQueue } from '../../../src/commands/queue.js';
import { SecretBox } from '../../../src/crypto/secrets/secret-box.js';
import { inTransaction } from '../../../src/db/connection/unit-of-work.js';
import {
  eachSealedBatch,
  readRotation,
  writeRotation,
} from '../../../src/db/pki/reseal-repository.js';
import { SEALED_PLACES } from '../../../src/db/pki/sealed-places.js';
import {
  checkMasterKey,
  masterKeyId,
  sealMasterKeyCheck,
} from '../../../src/pki/master-key/master-key.js';
import { rotateMasterKey } from '../../../src/pki/master-key/rotate-master-key.js';
import { rotationKeys } from '../../../src/pki/master-key/rotation-keys.js';
import { downloadFile } from '../../api/profile-samples.js';
import { adminApi, MASTER_KEY, startApp, type TestApp } from '../../helpers/app.js';
import { commandIn, deviceKeys, TestDevice } from '../../helpers/device.js';
import { installProfile, plainProfile } from '../../helpers/plain-profile.js';
import { capturingLogger } from '../../http/log-lines.js';
import { type FilledServer, startFilledServer } from './filled-server.js';

const NEXT = randomBytes(32);
const [former, next] = [new SecretBox(MASTER_KEY), new SecretBox(NEXT)];

let filled: FilledServer;
let output: string[];

const PROFILE = plainProfile();

beforeAll(async () => {
  filled = await startFilledServer();
  await filled.app.halt();
  const queue = new CommandQueue(former);
  queue.sharesPayloads = true;
  const command = { requestType: 'InstallProfile', parameters: { Payload: PROFILE } };
  const requested = {
    deviceId: filled.deviceId,
    command: { ...command, options: { priority: 1 } },
  };
  await inTransaction(filled.app.db, (trx) => queue.addEach(trx, [requested, requested]));
});
afterAll(() => filled?.app.database.drop());
beforeEach(() => {
  output = [];
});

interface Options {
  given?: Buffer;
  masterKey?: Buffer;
  skipUnreadable?: boolean;
  onWrite?: (line: string) => void;
  onFinish?: () => Promise<void>;
}

function rotate(options: Options = {}): Promise<void> {
  const { given = NEXT, masterKey = MASTER_KEY, skipUnreadable = false } = options;
  const { onWrite = () => undefined, onFinish = async () => undefined } = options;
  const config = { dataDir: '/nonexistent', masterKey };
  return rotateMasterKey({
    db: filled.app.db,
    skipUnreadable,
    onFinish,
    keys: rotationKeys({ config, given, logger: capturingLogger().logger }),
    write: (line) => {
      output.push(line);
      onWrite(line);
    },
  });
}

/** The device of the filled server, which talks to another one now. */
async function deviceOf({ url }: TestApp): Promise<TestDevice> {
  const { certificate, ids } = filled.device;
  return new TestDevice(url, await deviceKeys(), certificate, ids);
}

/** How many values of each place open under the key. */
async function openedBy(box: SecretBox): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const place of SEALED_PLACES) {
    await eachSealedBatch(filled.app.db, place, (values) => {
      for (const { sealed, seal_label } of values) {
        try {
          box.open(sealed, seal_label);
          counts[place.name] = (counts[place.name] ?? 0) + 1;
        } catch {
          // Sealed under another key.
        }
      }
      return [];
    });
  }
  return counts;
}

const PROCESS = { id: 'other', role: 'all', hostname: 'elsewhere', pid: 77, version: '1' };

describe('the rotation of the master key is refused', () => {
  afterEach(async () => {
    await filled.app.db.knex('server_processes').delete();
    expect(await readRotation(filled.app.db.knex)).toBeUndefined();
    expect(await openedBy(next)).toEqual({});
  });

  it('while a process of the server is alive, which it names', async () => {
    await filled.app.db.knex('server_processes').insert(PROCESS);
    await expect(rotate()).rejects.toThrow('the server runs (elsewhere, process 77); stop');
    expect(output).toEqual([]);
  });

  it('when a process of the server starts while it begins', async () => {
    const { db } = filled.app;
    await db.knex.raw(`
      create function come() returns trigger language plpgsql as $$ begin
        insert into server_processes (id, role, hostname, pid, version)
        values ('late', 'all', 'late', 78, '1');
        return null;
      end $$;
      create trigger come after insert on server_settings for each row execute function come()`);
    await expect(rotate()).rejects.toThrow('the server runs (late, process 78)');
    await db.knex.raw('drop function come() cascade');
  });

  it('under another key than the one in use', async () => {
    const masterKey = randomBytes(32);
    await expect(rotate({ masterKey })).rejects.toMatchObject({ code: 'master_key_mismatch' });
  });

  it('to the key in use, or to none', async () => {
    await expect(rotate({ given: MASTER_KEY })).rejects.toThrow('the new key is the one in use');
    const logger = capturingLogger().logger;
    const config = { dataDir: '/nonexistent', masterKey: MASTER_KEY };
    const keys = rotationKeys({ config, logger });
    const { db } = filled.app;
    const deps = { db, keys, write: () => undefined, onFinish: async () => undefined };
    await expect(rotateMasterKey(deps)).rejects.toThrow('NEW_MASTER_KEY, or in a file with --new-');
  });

  it('where a stored secret is damaged, before anything is changed', async () => {
    const { knex } = filled.app.db;
    const row = await knex('unknown_reports').first('id', 'sealed_report');
    const damaged = Buffer.from(row.sealed_report);
    damaged[20] = (damaged[20] ?? 0) ^ 1;
    await knex('unknown_reports').where({ id: row.id }).update({ sealed_report: damaged });
    await expect(rotate()).rejects.toThrow(
      'under no key that is here, so are damaged: 1; --skip-unreadable',
    );
    expect(output.at(-1)).toBe(`does not open: unknown_reports.sealed_report ${row.id}`);
    await knex('unknown_reports')
      .where({ id: row.id })
      .update({ sealed_report: row.sealed_report });
  });
});

describe('a rotation that was interrupted', () => {
  it('continues only with its new key, and no server starts meanwhile', async () => {
    const { db } = filled.app;
    const startedAt = new Date('2026-06-01T12:00:00Z');
    await writeRotation(db.knex, { check: sealMasterKeyCheck(next), startedAt });
    const check = checkMasterKey(db, former);
    await expect(check).rejects.toMatchObject({ code: 'key_rotation_unfinished', status: 500 });
    await expect(check).rejects.toThrow('since 2026-06-01T12:00:00.000Z only some of the secrets');
    await expect(filled.app.container.announce()).rejects.toThrow('`muster keys rotate-master`');
    await filled.app.container.stopBackground();
    await expect(rotate({ given: randomBytes(32) })).rejects.toThrow('begun with another new key');
    await expect(rotate({ masterKey: randomBytes(32) })).rejects.toMatchObject({
      code: 'master_key_mismatch',
    });
    expect(await openedBy(next)).toEqual({});
    await db.knex('server_settings').where({ name: 'master_key_rotation' }).delete();
  });

  it('stays unfinished while its last transaction fails, and can then be continued', async () => {
    const before = await openedBy(former);
    const onFinish = () => Promise.reject(new Error('no more room'));
    await expect(rotate({ onFinish })).rejects.toMatchObject({ code: 'internal_error' });
    expect(await openedBy(next)).toEqual(before);
    await expect(checkMasterKey(filled.app.db, next)).rejects.toThrow('not finished');
    await rotate({ onFinish: () => Promise.reject(new Error('still')) }).catch(() => undefined);
    expect(output.at(-1)).toMatch(/^the rotation that was begun at \S+Z goes on$/);
    // Undo for the tests that follow.
    await filled.app.db.knex('server_settings').where({ name: 'master_key_rotation' }).delete();
    await writeRotation(filled.app.db.knex, {
      check: sealMasterKeyCheck(former),
      startedAt: new Date(),
    });
    await filled.app.db.knex('server_settings').where({ name: 'master_key_check' }).delete();
    await rotate({ masterKey: NEXT, given: MASTER_KEY });
    expect(await openedBy(former)).toEqual(before);
  });
});

describe('after the rotation of the master key', () => {
  let app: TestApp;
  let before: Record<string, number>;

  beforeAll(async () => {
    const { db, database } = filled.app;
    const dead = { ...PROCESS, id: 'dead', hostname: hostname(), pid: 2 ** 22 + 1 };
    const silent = { ...PROCESS, seen_at: db.knex.raw("now() - interval '16 seconds'") };
    await db.knex('server_processes').insert(dead);
    await db.knex('server_processes').insert(silent);
    before = await openedBy(former);
    const damaged = { device_id: filled.deviceId, command_uuid: 'x', status: 'Error' };
    const sealed_report = former.seal(Buffer.from('x'), 'of another record');
    await db.knex('unknown_reports').insert({ ...damaged, sealed_report });
    output = [];
    await rotate({ skipUnreadable: true });
    const env = { TLS: 'off' };
    app = await startApp({ env, database, masterKey: NEXT, isSweeping: false });
  });
  afterAll(() => app?.halt());

  it('every place has its values under the new key, and none under the former', async () => {
    expect(Object.keys(before)).toEqual(SEALED_PLACES.map(({ name }) => name));
    expect(await openedBy(next)).toEqual(before);
    expect(await openedBy(former)).toEqual({});
    await checkMasterKey(app.db, next);
    await expect(checkMasterKey(app.db, former)).rejects.toMatchObject({
      code: 'master_key_mismatch',
    });
  });

  it('shared payloads are as they were, and each device gets its exact bytes', async () => {
    const bodies: Buffer[] = await app.db.knex('command_payloads').pluck('body');
    const plain = bodies.filter((body) => !SecretBox.isSealed(body));
    expect(plain).toEqual([installProfile(PROFILE)]);
    const rows = await app.db.knex('commands').whereNotNull('payload_sha256').orderBy('id');
    expect(rows.map(({ payload }) => payload)).toEqual([null, null]);
    const device = await deviceOf(app);
    for (const { uuid } of rows) {
      expect((await device.idle()).body).toEqual(installProfile(PROFILE, uuid));
      await device.report(uuid, 'Acknowledged');
    }
  });

  it('the server opens its stored secrets', async () => {
    const { secrets, deviceId } = filled;
    const device = await deviceOf(app);
    const reply = await device.checkIn('GetBootstrapToken');
    expect(reply.body.toString().replace(/\s/g, '')).toContain(
      `<data>${secrets.get('bootstrap')?.toString('base64')}</data>`,
    );
    await app.db.knex('commands').where({ device_id: deviceId }).update({ status: 'Cancelled' });
    await adminApi(app).post(`/devices/${deviceId}/clear_passcode`).expect(201);
    expect(commandIn(await device.idle())?.command.UnlockToken).toEqual(
      secrets.get('unlock token'),
    );
    const file = await downloadFile(app, String(filled.profileId));
    expect(file.body.toString()).toContain(secrets.get('Wi-Fi')?.toString());
    const keys = await app.db.knex('rsa_private_keys').orderBy('id', 'desc').select('id');
    await adminApi(app).get(`/rsa_private_keys/${keys[0].id}/download`).expect(200);
  });

  it('a second run reports that nothing is left to do', async () => {
    output = [];
    await rotate();
    expect(output[0]).toBe('every secret is under the new key already');
    expect(output).toHaveLength(2);
  });

  it('both keys have names that reveal nothing about them', () => {
    expect(masterKeyId(former)).toMatch(/^[0-9a-f]{8}$/);
    expect(masterKeyId(former)).toBe(masterKeyId(new SecretBox(MASTER_KEY)));
    expect(masterKeyId(former)).not.toBe(masterKeyId(next));
  });
});
