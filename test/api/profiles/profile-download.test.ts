import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createToken } from '../../../src/auth/api-tokens.js';
import { encodePem } from '../../../src/crypto/asn1/pem.js';
import { buildSignedData, verifySignedData } from '../../../src/crypto/cms/cms-signed-data.js';
import { exportPrivateKey } from '../../../src/crypto/keys/keys.js';
import type { Role } from '../../../src/jsonapi/context.js';
import { buildPlistNodes, parsePlist, parsePlistNodes } from '../../../src/protocol/plist/plist.js';
import { rsaIdentity } from '../../crypto/identities.js';
import { ADMIN_TOKEN, adminApi, startApp, type TestApp } from '../../helpers/app.js';
import {
  removeTemporaryDirectories,
  temporaryDirectory,
} from '../../helpers/temporary-directory.js';
import { payload, profile } from '../../profiles/sample-profiles.js';
import { binaryPlist } from '../../protocol/plist/binary-plist.js';
import { fixture, plistFixtures } from '../../protocol/plist/plist-fixtures.js';
import { ordered } from '../../protocol/plist/plist-node-arbitrary.js';
import { downloadFile, uploadFile } from '../profile-samples.js';

const CONTEXT = {
  requestId: 'download',
  actor: { name: 'download', role: 'admin' as const },
  sourceAddress: null,
};
const WIFI = 'com.apple.wifi.managed';
const PROFILE_TYPE = 'application/x-apple-aspen-config';

let app: TestApp;
let tokens: Record<Role, string>;
beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  const token = async (role: Role) =>
    (await createToken(app.db, { name: role, role }, CONTEXT)).token;
  tokens = { viewer: await token('viewer'), operator: await token('operator'), admin: ADMIN_TOKEN };
});
afterAll(async () => {
  await app.stop();
  removeTemporaryDirectories();
});

async function stored(file: Buffer): Promise<number> {
  const { status, body } = await uploadFile(app, file);
  expect(status).toBe(201);
  return body.data.id;
}

async function refusal(path: string, role: Role = 'admin') {
  const { status, body } = await adminApi(app, tokens[role]).get(`/download/profiles/${path}`);
  return [status, body.errors[0].code, body.errors[0].source?.parameter];
}

const auditLines = () => app.db.knex('audit_events').where({ action: 'profiles.download' });

describe('the download of a profile', () => {
  it('refuses unknown versions and parameters', async () => {
    const id = await stored(buildPlistNodes(profile([])));
    expect(await refusal('999999')).toEqual([404, 'not_found', undefined]);
    expect(await refusal('x')).toEqual([404, 'not_found', undefined]);
    expect(await refusal(`${id}?version=2`)).toEqual([404, 'not_found', undefined]);
    for (const [query, parameter] of [
      ['version=0', 'version'],
      ['version=99999999999', 'version'],
      ['version=x', 'version'],
      ['original=1', 'original'],
      ['signed=yes', 'signed'],
      ['signed=true&original=true', 'original'],
      ['format=der', 'format'],
    ]) {
      expect(await refusal(`${id}?${query}`)).toEqual([400, 'invalid_parameter', parameter]);
    }
    const { status, headers } = await adminApi(app).post(`/download/profiles/${id}`);
    expect([status, headers.allow]).toEqual([405, 'GET, HEAD, OPTIONS']);
  });

  it('requires the role operator for one with secrets, and leaves an audit line each time', async () => {
    const id = await stored(buildPlistNodes(profile([payload(WIFI, { Password: 'x' })])));
    expect(await refusal(`${id}`, 'viewer')).toEqual([403, 'forbidden', undefined]);
    expect(await refusal(`${id}?original=true`, 'viewer')).toEqual([403, 'forbidden', undefined]);
    expect(await auditLines()).toEqual([]);
    expect((await downloadFile(app, `${id}`, tokens.operator)).status).toBe(200);
    expect((await downloadFile(app, `${id}?original=true&version=1`)).status).toBe(200);
    const lines = await auditLines();
    expect(lines.map(({ actor, target_id, details }) => [actor, target_id, details])).toEqual([
      ['operator', String(id), { form: 'rebuilt', version: 1 }],
      ['ADMIN_TOKEN', String(id), { form: 'original', version: 1 }],
    ]);
  });

  it('is open to viewers for one without secrets, as an attachment', async () => {
    const before = await auditLines();
    const identifier = { PayloadIdentifier: '../com.example/"Büro"\u202e' };
    const id = await stored(buildPlistNodes(profile([payload('com.apple.dock')], identifier)));
    const file = await downloadFile(app, `${id}/`, tokens.viewer);
    expect(file.status).toBe(200);
    expect(file.headers['content-type']).toBe(PROFILE_TYPE);
    expect(file.headers['content-disposition']).toBe(
      'attachment; filename=com.example_B_ro_.mobileconfig',
    );
    expect(file.headers['cache-control']).toBe('no-store');
    expect(await auditLines()).toEqual(before);
  });

  it('returns each version byte for byte, by default the current one', async () => {
    const PayloadIdentifier = 'com.example.kept';
    const [one, two] = [1n, 2n].map((Level) => {
      const nodes = profile([payload('com.example.app', { Level })], { PayloadIdentifier });
      return Buffer.concat([buildPlistNodes(nodes), Buffer.from(`<!-- ${Level} -->`)]);
    }) as [Buffer, Buffer];
    const id = await stored(one);
    await stored(two);
    expect((await downloadFile(app, `${id}?original=true`)).body).toEqual(two);
    expect((await downloadFile(app, `${id}?original=true&version=1`)).body).toEqual(one);
    const levelOf = async (query: string) => {
      const { body } = await downloadFile(app, `${id}${query}`);
      const { PayloadContent } = parsePlist(body) as { PayloadContent: [{ Level: number }] };
      return PayloadContent[0].Level;
    };
    expect(await levelOf('')).toBe(2);
    expect(await levelOf('?version=1')).toBe(1);
    expect(await levelOf('?version=2&original=false&signed=false')).toBe(2);
  });

  it('is rebuilt from the rows, not from the bytes that were kept', async () => {
    const id = await stored(buildPlistNodes(profile([payload('com.apple.dock')])));
    await app.db.knex('profile_versions').where({ profile_id: id }).update({ sealed_original: '' });
    expect((await downloadFile(app, `${id}`)).status).toBe(200);
    await app.db.knex('profile_payloads').where({ profile_id: id }).delete();
    const { body } = await downloadFile(app, `${id}`);
    expect(parsePlist(body)).toMatchObject({ PayloadContent: [] });
  });

  it('equals the upload: every fixture, in XML, binary and signed', async () => {
    const signer = await rsaIdentity();
    const files = plistFixtures(['enroll']).filter((path) => path.endsWith('.mobileconfig'));
    expect(files).not.toEqual([]);
    for (const path of files) {
      const xml = fixture(path);
      const forms = [xml, binaryPlist(parsePlist(xml)), buildSignedData({ content: xml, signer })];
      for (const [index, bytes] of forms.entries()) {
        const id = await stored(bytes);
        const { body } = await downloadFile(app, `${id}`);
        expect(ordered(parsePlistNodes(body))).toEqual(
          ordered(parsePlistNodes(index === 1 ? bytes : xml)),
        );
      }
    }
  });
});

describe('the signed download of a profile', () => {
  it('answers 409 while the server has no certificate', async () => {
    const id = await stored(buildPlistNodes(profile([])));
    expect(await refusal(`${id}?signed=true`)).toEqual([409, 'conflict', undefined]);
  });

  it('is signed by the TLS certificate', async () => {
    const id = await stored(buildPlistNodes(profile([payload('com.apple.dock')])));
    const plain = await downloadFile(app, `${id}`);
    const { certificate, privateKey } = await rsaIdentity();
    const directory = temporaryDirectory();
    const write = (name: string, label: string, der: Buffer) => {
      writeFileSync(join(directory, name), encodePem(label, der));
      return join(directory, name);
    };
    const env = {
      TLS_CERT_FILE: write('tls.pem', 'CERTIFICATE', certificate.der),
      TLS_KEY_FILE: write('tls.key', 'PRIVATE KEY', exportPrivateKey(privateKey)),
    };
    const signing = await startApp({ env, database: app.database, isSweeping: false });
    const file = await downloadFile(signing, `${id}?signed=true`);
    const unsigned = await downloadFile(signing, `${id}`);
    await signing.halt();
    expect(file.headers['content-type']).toBe(PROFILE_TYPE);
    const { signers, content } = verifySignedData({ der: file.body });
    expect(signers[0].certificate.fingerprint).toEqual(certificate.fingerprint);
    expect(content).toEqual(plain.body);
    expect(unsigned.body).toEqual(plain.body);
  });
});
