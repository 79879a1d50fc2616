import { randomBytes } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { keysRotateMaster, keysStatus } from '../../src/cli/keys/keys.js';
import { UsageError } from '../../src/cli/options.js';
import { loadConfig } from '../../src/config/config.js';
import { SecretBox } from '../../src/crypto/secrets/secret-box.js';
import { inTransaction } from '../../src/db/connection/unit-of-work.js';
import {
  eachSealedBatch,
  finishRotation,
  readRotation,
} from '../../src/db/pki/reseal-repository.js';
import { SEALED_PLACES } from '../../src/db/pki/sealed-places.js';
import { AppError } from '../../src/errors.js';
import { createCertificateAuthorities } from '../../src/pki/authority/authorities.js';
import {
  checkMasterKey,
  masterKeyId,
  sealMasterKeyCheck,
} from '../../src/pki/master-key/master-key.js';
import { loadMasterKey } from '../../src/pki/master-key/master-key-source.js';
import { serve } from '../../src/server/main.js';
import { killChildren, startMuster } from '../helpers/child-process.js';
import { createTestDatabase, type TestDatabase } from '../helpers/database.js';
import { storePreparedAuthority } from '../helpers/prepared-authority.js';
import { removeTemporaryDirectories, temporaryDirectory } from '../helpers/temporary-directory.js';
import { capturingLogger } from '../http/log-lines.js';

const MANY = 40_000;

let test: TestDatabase;
let dataDir: string;
let output: string[];

beforeEach(async () => {
  test = await createTestDatabase();
  dataDir = temporaryDirectory();
  output = [];
});
afterEach(async () => {
  killChildren();
  await test.drop();
});
afterAll(removeTemporaryDirectories);

const keyFile = () => join(dataDir, 'master.key');
const logger = capturingLogger().logger;

function load(configured?: Buffer): Promise<Buffer> {
  return loadMasterKey({ db: test.db, dataDir, configured, logger });
}

function io(masterKey?: Buffer) {
  const write = (line: string) => void output.push(line);
  return { config: { dataDir, masterKey }, db: test.db, logger, write };
}

/** The first start of a server, whose key is in a file unless it is given. */
async function begin(configured?: Buffer): Promise<SecretBox> {
  const box = new SecretBox(await load(configured));
  await storePreparedAuthority(test.db, box);
  await createCertificateAuthorities({ db: test.db, box, logger });
  return box;
}

async function addReports(box: SecretBox, count: number): Promise<void> {
  const [{ id }] = await test.db.knex('devices').insert({}).returning('id');
  const sealed = box.seal(Buffer.from('a report'), `unknown_reports/${id}`);
  await test.db.knex.raw(
    `insert into unknown_reports (device_id, command_uuid, status, sealed_report)
     select ?, 'x', 'Error', ? from generate_series(1, ?)`,
    [id, sealed, count],
  );
}

async function openedBy(box: SecretBox): Promise<number> {
  let count = 0;
  for (const place of SEALED_PLACES) {
    await eachSealedBatch(test.db, place, (values) => {
      for (const { sealed, seal_label } of values) {
        try {
          box.open(sealed, seal_label);
          count += 1;
        } catch {
          // It is under another key.
        }
      }
      return [];
    });
  }
  return count;
}

describe('muster keys rotate-master', () => {
  it('refuses a database without secrets', async () => {
    await load();
    await expect(keysRotateMaster(io(), {})).rejects.toThrow('the database holds no secrets yet');
    expect(readdirSync(dataDir)).toEqual(['master.key']);
  });

  it('refuses a key where it generates one, and anything that is no key', async () => {
    await begin();
    const given = randomBytes(32).toString('base64');
    await expect(keysRotateMaster(io(), {}, given)).rejects.toThrow('do not pass one');
    const file = join(dataDir, 'given');
    writeFileSync(file, given.slice(4));
    const masterKey = randomBytes(32);
    await expect(keysRotateMaster(io(masterKey), { newKeyFile: file })).rejects.toThrow(
      `${file} does not hold 32 bytes in base64`,
    );
    await expect(keysRotateMaster(io(masterKey), {}, 'short')).rejects.toThrow('NEW_MASTER_KEY');
    const missing = keysRotateMaster(io(masterKey), { newKeyFile: join(dataDir, 'missing') });
    await expect(missing).rejects.toThrow(UsageError);
    await expect(missing).rejects.toThrow(/^--new-key-file cannot be read \(ENOENT: .*missing'\)$/);
  });

  it('replaces the key file, and keeps the former one', async () => {
    const former = await begin();
    const before = readFileSync(keyFile(), 'utf8');
    await keysRotateMaster(io(), {});
    const kept = `${keyFile()}.${masterKeyId(former)}.old`;
    expect(readFileSync(kept, 'utf8')).toBe(before);
    expect(statSync(keyFile()).mode & 0o777).toBe(0o600);
    expect(readdirSync(dataDir)).toHaveLength(2);
    const box = new SecretBox(await load());
    await checkMasterKey(test.db, box);
    await expect(checkMasterKey(test.db, former)).rejects.toMatchObject({
      code: 'master_key_mismatch',
    });
    expect(output).toEqual([
      'secrets to be sealed anew: 1',
      `every secret is under the key ${masterKeyId(box)} now, instead of ${masterKeyId(former)}`,
      `The new key is in ${keyFile()}; the former one, for older backups, in ${kept}.`,
      expect.stringContaining('fetch them again.'),
    ]);
    const [event] = await test.db.knex('audit_events').where({ action: 'keys.rotate_master' });
    expect([event.actor, event.details]).toEqual([
      'cli',
      { former_key: masterKeyId(former), new_key: masterKeyId(box) },
    ]);
  });

  it('keeps every former key', async () => {
    const first = masterKeyId(await begin());
    await keysRotateMaster(io(), {});
    const second = masterKeyId(new SecretBox(await load()));
    await keysRotateMaster(io(), {});
    const names = ['master.key', `master.key.${first}.old`, `master.key.${second}.old`];
    expect(readdirSync(dataDir).sort()).toEqual(names.sort());
  });

  it('uses the new key of the options where MASTER_KEY is set', async () => {
    const [masterKey, next, other] = [randomBytes(32), randomBytes(32), randomBytes(32)];
    await begin(masterKey);
    await keysRotateMaster(io(masterKey), {}, next.toString('base64'));
    expect(output.at(-2)).toMatch(/^Set MASTER_KEY to the new key before the next start\./);
    await checkMasterKey(test.db, new SecretBox(next));
    const file = join(dataDir, 'given');
    writeFileSync(file, `${other.toString('base64')}\n`);
    await keysRotateMaster(io(next), { newKeyFile: file });
    await checkMasterKey(test.db, new SecretBox(other));
    expect(readdirSync(dataDir)).toEqual(['given']);
  });

  it('names the key that is needed when another one is set afterwards', async () => {
    const keys = [randomBytes(32), randomBytes(32), randomBytes(32)] as const;
    const [first, second, third] = keys.map((key) => masterKeyId(new SecretBox(key)));
    const refusal = async (key: Buffer) => {
      const error = await checkMasterKey(test.db, new SecretBox(key)).catch((thrown) => thrown);
      return error instanceof AppError ? [error.code, error.message] : error;
    };
    await begin(keys[0]);
    expect(await refusal(keys[1])).toEqual([
      'master_key_mismatch',
      `The master key (${second}) is not the one that this database was made with; nothing was ` +
        'changed. Set the former key (MASTER_KEY or DATA_DIR/master.key), or use another database.',
    ]);
    await keysRotateMaster(io(keys[0]), {}, keys[1].toString('base64'));
    const today = new Date().toISOString().slice(0, 10);
    expect(await refusal(keys[0])).toEqual([
      'master_key_mismatch',
      `The master key was changed on ${today}, and this is the former one (${first}); set ` +
        `MASTER_KEY or DATA_DIR/master.key to the new key (${second}). Nothing was changed.`,
    ]);
    await keysRotateMaster(io(keys[1]), {}, keys[2].toString('base64'));
    expect(await refusal(keys[0])).toEqual([
      'master_key_mismatch',
      `The master key (${first}) is not the one that this database is under since ${today} ` +
        `(${third}); nothing was changed. Set that key (MASTER_KEY or DATA_DIR/master.key), or ` +
        'use another database.',
    ]);
    output = [];
    await keysStatus(io(keys[1]));
    expect(output[1]).toContain(`is under another key: ${third}, since ${today}T`);
  });

  it('cut short before the files are moved, is finished by the next run', async () => {
    const former = await begin();
    const next = randomBytes(32);
    writeFileSync(`${keyFile()}.new`, next.toString('base64'), { mode: 0o600 });
    const box = new SecretBox(next);
    const { rows } = await test.db.pool.query('select * from rsa_private_keys');
    for (const { id, fingerprint_sha256, sealed_pkcs8 } of rows) {
      const identity = `rsa_private_keys/${fingerprint_sha256}`;
      const sealed = box.seal(former.open(sealed_pkcs8, identity), identity);
      await test.db.knex('rsa_private_keys').where({ id }).update({ sealed_pkcs8: sealed });
    }
    await inTransaction(test.db, (trx) => finishRotation(trx, sealMasterKeyCheck(box)));
    const refusal = load();
    await expect(refusal).rejects.toMatchObject({ code: 'key_rotation_unfinished', status: 500 });
    await expect(refusal).rejects.toThrow(
      `the new key is still in ${keyFile()}.new. Run \`muster keys rotate-master\` again`,
    );
    await keysStatus(io());
    expect(output.slice(-2)).toEqual([
      `new key     ${masterKeyId(box)}, which the database is under`,
      'rotation    unfinished: run `muster keys rotate-master` again',
    ]);
    await keysRotateMaster(io(), {});
    expect(await load()).toEqual(next);
    expect(existsSync(`${keyFile()}.new`)).toBe(false);
    copyFileSync(keyFile(), `${keyFile()}.new`);
    expect(await load()).toEqual(next);
  });

  it('killed in the middle, continues where it was, and no server starts meanwhile', async () => {
    const former = await begin();
    await addReports(former, MANY);
    const env = { DATABASE_URL: test.connectionString, DATA_DIR: dataDir, PORT: '0' };
    const first = startMuster(['keys', 'rotate-master'], { env, cwd: dataDir });
    await first.line('unknown_reports.sealed_report:');
    first.process.kill('SIGKILL');
    expect(await first.ended).toBe('SIGKILL');

    const next = new SecretBox(
      Buffer.from(readFileSync(`${keyFile()}.new`, 'utf8').trim(), 'base64'),
    );
    const [done, left] = [await openedBy(next), await openedBy(former)];
    expect([done > 9_000, left > 0, done + left]).toEqual([true, true, MANY + 1]);
    await expect(load()).rejects.toMatchObject({ code: 'key_rotation_unfinished' });
    const started = serve(loadConfig(env, dataDir), logger);
    await expect(started).rejects.toThrow('Run `muster keys rotate-master` again');
    await keysStatus(io());
    expect(output[1]).toMatch(/^rotation {4}unfinished since \S+Z: run /);

    await keysRotateMaster(io(), {});
    expect([await openedBy(next), await openedBy(former)]).toEqual([MANY + 1, 0]);
    expect(await readRotation(test.db.knex)).toBeUndefined();
    expect(await load()).toEqual(Buffer.from(readFileSync(keyFile(), 'utf8').trim(), 'base64'));
    await checkMasterKey(test.db, next);
  }, 120_000);
});

describe('muster keys status', () => {
  it('names the key, where it is, and whether the database is under it', async () => {
    await load();
    await keysStatus(io());
    expect(output[1]).toBe('database    holds no secrets yet');
    const box = await begin();
    output = [];
    await keysStatus(io());
    expect(output).toEqual([
      `master key  ${masterKeyId(box)}, from ${keyFile()}`,
      'database    is under this key',
    ]);
    output = [];
    const other = randomBytes(32);
    await keysStatus(io(other));
    expect(output).toEqual([
      `master key  ${masterKeyId(new SecretBox(other))}, from MASTER_KEY`,
      'database    is under another key',
    ]);
    expect(output.join()).not.toContain(other.toString('base64'));
  });
});
