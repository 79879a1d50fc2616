import { execFileSync } from 'node:child_process';
import { pbkdf2Sync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  buildPlist,
  isPlistDict,
  type PlistDict,
  parsePlistDict,
} from '../../../src/protocol/plist/plist.js';
import {
  ADMIN_TOKEN,
  adminApi,
  commandDocument,
  startApp,
  type TestApp,
} from '../../helpers/app.js';
import { commandIn, createTestDevice, type TestDevice } from '../../helpers/device.js';
import {
  removeTemporaryDirectories,
  temporaryDirectory,
} from '../../helpers/temporary-directory.js';
import { eventually } from '../../push/push-fixture.js';

const KEY = 'ABCD-EFGH-JKLM-NPQR-STUV-WXYZ';
const NEXT_KEY = 'WXYZ-STUV-NPQR-JKLM-EFGH-ABCD';

let directory: string;
let app: TestApp;
let device: TestDevice;
let id: number;

beforeAll(async () => {
  directory = temporaryDirectory();
  app = await startApp({ isSweeping: false });
});
afterAll(async () => {
  await app.stop();
  removeTemporaryDirectories();
});

beforeEach(async () => {
  device = await (await createTestDevice(app)).enroll();
  ({ id } = await app.db.knex('devices').where({ udid: device.udid }).first('id'));
  await app.db.knex('commands').where({ device_id: id }).delete();
  const facts = { platform: 'macOS', os_version: '15.0', enrollment_method: 'automated' };
  await app.db.knex('devices').where({ id }).update(facts);
});

async function queue(type: string, parameters = {}) {
  const document = commandDocument(id, type, { parameters });
  const { status, body } = await adminApi(app).post('/commands', document);
  return { status, data: body.data, errors: body.errors };
}

/** The values of a kind, oldest first. */
async function values(kind: string): Promise<string[]> {
  const query = `filter[kind]=${kind}&filter[is_known]=true&sort=id`;
  const { body } = await adminApi(app).get(`/devices/${id}/secrets?${query}`);
  const rows = body.data as { id: number }[];
  return Promise.all(
    rows.map(async (row) => {
      const path = `/devices/${id}/secrets/${row.id}/reveal`;
      return (await adminApi(app).post(path, { reason: 'test' })).body.data.attributes.value;
    }),
  );
}

async function profile(): Promise<Buffer> {
  const response = await fetch(`${app.url}/api/v1/configuration/file_vault/profile`, {
    headers: { Authorization: `Bearer ${ADMIN_TOKEN}` },
  });
  expect([response.status, response.headers.get('content-type')]).toEqual([
    200,
    'application/x-apple-aspen-config',
  ]);
  return Buffer.from(await response.arrayBuffer());
}

/** DER of the certificate in the profile, as a Mac finds it. */
async function recipient(): Promise<Buffer> {
  const { PayloadContent } = parsePlistDict(await profile());
  const payloads = (PayloadContent as PlistDict[]).filter(isPlistDict);
  const escrow = payloads.find(
    ({ PayloadType }) => PayloadType === 'com.apple.security.FDERecoveryKeyEscrow',
  );
  const named = payloads.find(({ PayloadUUID }) => PayloadUUID === escrow?.EncryptCertPayloadUUID);
  return named?.PayloadContent as Buffer;
}

/** A CMS message by OpenSSL. */
function encrypt(text: string, certificate: Buffer, cipher = '-aes256'): Buffer {
  const file = join(directory, 'recipient.cer');
  writeFileSync(file, certificate);
  const args = ['cms', '-encrypt', cipher, '-binary', '-outform', 'DER', '-recip', file];
  return execFileSync('openssl', args, { input: text });
}

/** Queues it, lets the Mac answer, and waits until the answer is handled. Returns what it got. */
async function carryOut(type: string, parameters: object, answer: (got: PlistDict) => object) {
  const { status, data, errors } = await queue(type, parameters);
  expect([status, errors]).toEqual([201, undefined]);
  const got = commandIn(await device.idle())?.command ?? {};
  await device.report(data.attributes.uuid, 'Acknowledged', answer(got) as never);
  await eventually(async () => {
    const row = await app.db.knex('commands').where({ id: data.id }).first('needs_handling');
    expect(row.needs_handling).toBe(false);
  });
  return got;
}

function reportsKey(cms: Buffer) {
  return () => ({ SecurityInfo: { FDE_PersonalRecoveryKeyCMS: cms } });
}

/** The former key is there, but it is not the Mac's: no rotation is unlocked with it. */
async function expectUnknown() {
  const path = `/devices/${id}/secrets?filter[kind]=filevault_recovery_key&sort=id`;
  const { body } = await adminApi(app).get(path);
  const shown = body.data.map(({ attributes }: { attributes: object }) => attributes);
  expect(shown).toMatchObject([
    { state: 'superseded', is_current: false, is_known: true },
    { state: 'confirmed', is_current: false, is_known: false },
  ]);
  expect((await queue('RotateFileVaultKey', { KeyType: 'personal' })).status).toBe(422);
}

describe('the FileVault recovery key of a Mac', () => {
  it.each(['-aes256', '-aes128', '-des3'])(
    'is opened when it is reported, encrypted with %s to the certificate of the profile',
    async (cipher) => {
      const cms = encrypt(KEY, await recipient(), cipher);
      await carryOut('SecurityInfo', {}, reportsKey(cms));
      await carryOut('SecurityInfo', {}, reportsKey(cms));
      expect(await values('filevault_recovery_key')).toEqual([KEY]);
      expect(await values('fde_personal_recovery_key_cms')).toEqual([cms.toString('base64')]);
    },
  );

  it('is kept as it came when it is encrypted to another certificate', async () => {
    await recipient();
    const cms = encrypt(KEY, app.authority.certificate.der);
    await carryOut('SecurityInfo', {}, reportsKey(cms));
    expect(await values('filevault_recovery_key')).toEqual([]);
    expect(await values('fde_personal_recovery_key_cms')).toEqual([cms.toString('base64')]);
  });

  it('unlocks its own rotation, and the new one is kept beside it', async () => {
    const certificate = await recipient();
    await carryOut('SecurityInfo', {}, reportsKey(encrypt(KEY, certificate)));
    const got = await carryOut('RotateFileVaultKey', { KeyType: 'personal' }, (command) => ({
      RotateResult: {
        EncryptedNewRecoveryKey: encrypt(NEXT_KEY, command.ReplyEncryptionCertificate as Buffer),
      },
    }));
    expect(got).toEqual({
      RequestType: 'RotateFileVaultKey',
      KeyType: 'personal',
      FileVaultUnlock: { Password: KEY },
      ReplyEncryptionCertificate: certificate,
    });
    expect(await values('filevault_recovery_key')).toEqual([KEY, NEXT_KEY]);
  });

  it('is not known any more once it was rotated for another certificate, and the new one is kept', async () => {
    await carryOut('SecurityInfo', {}, reportsKey(encrypt(KEY, await recipient())));
    const other = app.authority.certificate.der;
    const cms = encrypt(NEXT_KEY, other);
    const parameters = {
      KeyType: 'personal',
      ReplyEncryptionCertificate: other.toString('base64'),
    };
    const RotateResult = { EncryptedNewRecoveryKey: cms };
    await carryOut('RotateFileVaultKey', parameters, () => ({ RotateResult }));
    expect((await values('fde_personal_recovery_key_cms')).at(-1)).toBe(cms.toString('base64'));
    await expectUnknown();
    const again = encrypt(NEXT_KEY, await recipient());
    await carryOut('SecurityInfo', {}, reportsKey(again));
    expect((await values('filevault_recovery_key')).at(-1)).toBe(NEXT_KEY);
  });

  it('is not known any more once the Mac reports one for another certificate', async () => {
    await carryOut('SecurityInfo', {}, reportsKey(encrypt(KEY, await recipient())));
    const cms = encrypt(NEXT_KEY, app.authority.certificate.der);
    await carryOut('SecurityInfo', {}, reportsKey(cms));
    await carryOut('SecurityInfo', {}, reportsKey(cms));
    await expectUnknown();
  });

  it('is not used for a second rotation while the first one waits', async () => {
    await carryOut('SecurityInfo', {}, reportsKey(encrypt(KEY, await recipient())));
    expect((await queue('RotateFileVaultKey', { KeyType: 'personal' })).status).toBe(201);
    const { status, errors } = await queue('RotateFileVaultKey', { KeyType: 'personal' });
    expect([status, errors[0].source]).toEqual([
      409,
      { pointer: '/data/attributes/parameters/FileVaultUnlock' },
    ]);
  });

  it('stays the current one when its rotation fails', async () => {
    await carryOut('SecurityInfo', {}, reportsKey(encrypt(KEY, await recipient())));
    const { data } = await queue('RotateFileVaultKey', { KeyType: 'personal' });
    await device.idle();
    await device.report(data.attributes.uuid, 'Error');
    const next = await queue('RotateFileVaultKey', { KeyType: 'personal' });
    expect(next.status).toBe(201);
    expect(commandIn(await device.idle())?.command.FileVaultUnlock).toEqual({ Password: KEY });
    expect(await values('filevault_recovery_key')).toEqual([KEY]);
  });

  it('is required for a rotation when none is known', async () => {
    const { status, errors } = await queue('RotateFileVaultKey', { KeyType: 'personal' });
    expect([status, errors[0].source, errors[0].detail]).toEqual([
      422,
      { pointer: '/data/attributes/parameters/FileVaultUnlock' },
      `no recovery key of device ${id} is known: name the password of a user who can unlock ` +
        'FileVault, or install the profile of /configuration/file_vault/profile',
    ]);
  });

  it('has one certificate for all requests', async () => {
    const [one, two] = await Promise.all([profile(), profile()]);
    expect(one.equals(two)).toBe(true);
  });
});

describe('the password of an administrator account', () => {
  const GUID = '5F3F5E9C-0000-4000-8000-000000000000';

  /** Whether Apple's hash is that of the password. */
  function isHashOf(passwordHash: unknown, password: string | undefined): boolean {
    const hash = parsePlistDict(passwordHash as Buffer)['SALTED-SHA512-PBKDF2'] as {
      entropy: Buffer;
      iterations: number;
      salt: Buffer;
    };
    const { entropy, iterations, salt } = hash;
    expect([entropy.length, salt.length, iterations]).toEqual([128, 32, 60_000]);
    return pbkdf2Sync(password ?? '', salt, iterations, 128, 'sha512').equals(entropy);
  }

  it('is generated when it is left out; the Mac gets its hash', async () => {
    const got = await carryOut('SetAutoAdminPassword', { GUID }, () => ({}));
    expect(new Set(Object.keys(got))).toEqual(new Set(['GUID', 'RequestType', 'passwordHash']));
    const [password, ...others] = await values('admin_password');
    expect(password).toMatch(/^([2-9a-hjkmnp-z]{4}-){4}[2-9a-hjkmnp-z]{4}$/);
    expect([others, isHashOf(got.passwordHash, password)]).toEqual([[], true]);
  });

  it('may be in the request, also for the account that Setup Assistant creates', async () => {
    const account = { shortName: 'admin', password: 'correct horse' };
    const parameters = { AutoSetupAdminAccounts: [account] };
    const got = await carryOut('AccountConfiguration', parameters, () => ({}));
    const [sent] = got.AutoSetupAdminAccounts as PlistDict[];
    expect(Object.keys(sent ?? {})).toEqual(['shortName', 'passwordHash']);
    expect(isHashOf(sent?.passwordHash, 'correct horse')).toBe(true);
    expect(await values('admin_password')).toEqual(['correct horse']);
  });

  it('is unknown when the request contains its hash', async () => {
    const hash = buildPlist({
      'SALTED-SHA512-PBKDF2': {
        entropy: Buffer.alloc(128, 1),
        iterations: 30_000,
        salt: Buffer.alloc(32, 2),
      },
    });
    const passwordHash = hash.toString('base64');
    const got = await carryOut('SetAutoAdminPassword', { GUID, passwordHash }, () => ({}));
    expect(got.passwordHash).toEqual(hash);
    expect(await values('admin_password')).toEqual([]);
  });

  it.each([
    [{ password: '' }, 'must be a text'],
    [{ password: 7 }, 'must be a text'],
    [{ password: 'a'.repeat(256) }, 'must be a text'],
    [{ password: 'a', passwordHash: 'YQ==' }, 'use either'],
  ])('is refused as %j', async (given, expected) => {
    const { status, errors } = await queue('SetAutoAdminPassword', { GUID, ...given });
    expect([status, errors[0].source]).toEqual([
      422,
      { pointer: '/data/attributes/parameters/password' },
    ]);
    expect(errors[0].detail).toContain(expected);
    expect(await values('admin_password')).toEqual([]);
  });

  it('is in no row and no log line', async () => {
    await carryOut('SetAutoAdminPassword', { GUID, password: 'battery-staple' }, () => ({}));
    const tables = ['commands', 'device_secrets', 'audit_events', 'idempotency_keys'];
    const rows = await Promise.all(tables.map((table) => app.db.knex(table)));
    expect(JSON.stringify(rows) + app.logText()).not.toContain('battery-staple');
  });
});
