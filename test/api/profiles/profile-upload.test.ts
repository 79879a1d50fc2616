import { createToken } from '../../../src/auth/api-tokens.js';
import { sealEnvelopedData } from '../../../src/crypto/cms/cms-enveloped-data.js';
import { buildSignedData } from '../../../src/crypto/cms/cms-signed-data.js';
import type { Role } from '../../../src/jsonapi/context.js';
import { buildPlistNodes } from '../../../src/protocol/plist/plist.js';
import { rsaIdentity } from '../../crypto/identities.js';
import { ADMIN_TOKEN, adminApi, startApp, type TestApp } from '../../helpers/app.js';
import { dict, payload, profile } from '../../profiles/sample-profiles.js';
import { fixture } from '../../protocol/plist/plist-fixtures.js';
import { uploadFile, uploadNodes } from '../profile-samples.js';

const CONTEXT = {
  requestId: 'upload',
  actor: { name: 'upload', role: 'admin' as const },
  sourceAddress: null,
};
const WIFI = 'com.apple.wifi.managed';

interface UploadError {
  code: string;
  detail: string;
  source: { pointer: string };
}

interface Version {
  attributes: Record<string, unknown>;
  relationships: { payloads: { data: unknown[] } };
}

let app: TestApp;
let tokens: Record<Role, string>;
beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  const token = async (role: Role) =>
    (await createToken(app.db, { name: role, role }, CONTEXT)).token;
  tokens = { viewer: await token('viewer'), operator: await token('operator'), admin: ADMIN_TOKEN };
});
afterAll(() => app.stop());

async function countsOf(): Promise<number[]> {
  const tables = ['profiles', 'profile_versions', 'profile_payloads'];
  const counts = tables.map((table) => app.db.knex(table).count<{ count: number }[]>('* as count'));
  return (await Promise.all(counts)).map(([row]) => Number(row?.count));
}

const auditLines = (id: number) =>
  app.db
    .knex('audit_events')
    .where({ target_type: 'profiles', target_id: String(id) })
    .orderBy('id');

describe('the upload of a profile', () => {
  it('is refused to viewers and without a valid token, and stores nothing', async () => {
    const before = await countsOf();
    const viewer = await uploadNodes(app, profile([]), { token: tokens.viewer });
    expect([viewer.status, viewer.body.errors[0].code]).toEqual([403, 'forbidden']);
    const outsider = await uploadNodes(app, profile([]), { token: 'no-such-token-at-all' });
    expect(outsider.status).toBe(401);
    expect(await countsOf()).toEqual(before);
  });

  it('answers 422 with every fault, and stores nothing', async () => {
    const before = await countsOf();
    const wrong = payload(WIFI, { SSID_STR: 1n });
    const { status, body } = await uploadNodes(app, profile([wrong], { PayloadVersion: 2n }));
    expect(status).toBe(422);
    expect(
      body.errors.map(({ code, detail, source }: UploadError) => [code, detail, source]),
    ).toEqual([
      [
        'invalid_profile',
        '/PayloadVersion: PayloadVersion must be the integer 1',
        { pointer: '/PayloadVersion' },
      ],
      [
        'invalid_profile',
        '/PayloadContent/0/SSID_STR: SSID_STR must be a string',
        { pointer: '/PayloadContent/0/SSID_STR' },
      ],
    ]);
    expect(await countsOf()).toEqual(before);
  });

  it('answers 422 to encrypted profiles and says so', async () => {
    const { certificate } = await rsaIdentity();
    const files = [
      buildPlistNodes(profile([], { EncryptedPayloadContent: Buffer.from('x') })),
      buildPlistNodes(profile([], { IsEncrypted: true })),
      sealEnvelopedData(buildPlistNodes(profile([])), certificate),
    ];
    for (const file of files) {
      const { status, body } = await uploadFile(app, file);
      expect([status, body.errors[0].code]).toEqual([422, 'encrypted_profile']);
      expect(body.errors[0].detail).toContain('not supported');
    }
  });

  it('answers 422 to what is no profile and to broken signatures', async () => {
    const signer = await rsaIdentity();
    const signed = buildSignedData({ content: buildPlistNodes(profile([])), signer });
    signed.writeUInt8(signed.readUInt8(signed.length - 1) ^ 1, signed.length - 1);
    const codes: string[] = [];
    for (const file of [signed, Buffer.from('nonsense'), Buffer.alloc(0)]) {
      const { status, body } = await uploadFile(app, file);
      codes.push(`${status} ${body.errors[0].code}`);
    }
    expect(codes).toEqual(['422 invalid_signature', '422 invalid_plist', '422 invalid_plist']);
  });

  it('answers 201 with the details and the identifiers of the payloads', async () => {
    const payloads = [payload(WIFI, { SSID_STR: 'Office' }), payload('com.apple.dock')];
    const uuid = '0B6B6A5E-4C33-4A3C-9A52-3D0C6F1F7C11';
    const nodes = profile(payloads, {
      PayloadIdentifier: 'com.example.Details',
      PayloadUUID: uuid,
      PayloadDisplayName: 'Details',
      PayloadDescription: 'All of them',
      PayloadOrganization: 'Example',
      PayloadScope: 'System',
      PayloadRemovalDisallowed: true,
      PayloadExpirationDate: new Date('2030-01-02T03:04:05Z'),
      RemovalDate: new Date('2031-01-02T03:04:05Z'),
      DurationUntilRemoval: 3600.5,
      ConsentText: dict({ default: 'Do you?', en: 'Do you agree?' }),
    });
    const { status, body, headers } = await uploadNodes(app, nodes, { token: tokens.operator });
    expect(status).toBe(201);
    const { id } = body.data;
    expect(headers.location).toBe(`/api/v1/profiles/${id}`);
    expect(headers['content-type']).toBe('application/vnd.api+json');
    expect(body).toEqual({
      data: {
        type: 'profiles',
        id: expect.any(Number),
        attributes: {
          identifier: 'com.example.Details',
          uuid,
          display_name: 'Details',
          description: 'All of them',
          organization: 'Example',
          version: 1,
          scope: 'System',
          removal_disallowed: true,
          expiration_date: '2030-01-02T03:04:05+00:00',
          removal_date: '2031-01-02T03:04:05+00:00',
          duration_until_removal: 3600.5,
          consent_en: 'Do you agree?',
          holds_secrets: false,
          is_signed: false,
          signer: null,
          current_version: 1,
          active_version: null,
          paused_at: null,
          removals_paused_at: null,
          pause_reason: null,
          created_at: expect.any(String),
          updated_at: expect.any(String),
        },
        relationships: expect.objectContaining({
          payloads: {
            links: {
              self: `/api/v1/profiles/${id}/relationships/payloads`,
              related: `/api/v1/profiles/${id}/payloads`,
            },
            data: [
              { type: 'profile_payloads', id: expect.any(Number) },
              { type: 'profile_payloads', id: expect.any(Number) },
            ],
          },
        }),
        links: { self: `/api/v1/profiles/${id}` },
      },
      links: { self: `/api/v1/profiles/${id}` },
      meta: { warnings: [] },
      jsonapi: { version: '1.0' },
    });
    const [first] = body.data.relationships.payloads.data;
    const stored = await adminApi(app).get(`/profile_payloads/${first.id}`);
    expect(stored.body.data.attributes).toEqual({
      position: 0,
      payload_type: WIFI,
      identifier: payloads[0]?.get('PayloadIdentifier'),
      uuid: payloads[0]?.get('PayloadUUID'),
      version: 1,
      display_name: null,
      description: null,
      organization: null,
      is_known: true,
    });
    const [line, ...others] = await auditLines(id);
    expect(line).toMatchObject({
      actor: 'operator',
      action: 'profiles.create',
      outcome: 'success',
      details: { version: 1 },
    });
    expect(others).toEqual([]);
  });

  it('answers with the warnings, and refuses for them when asked to be strict', async () => {
    const nodes = profile([payload('com.google.Chrome')], { PayloadUUID: 'none' });
    const strict = await uploadNodes(app, nodes, { query: '?strict=true' });
    expect(strict.status).toBe(422);
    expect(strict.body.errors.map(({ source }: UploadError) => source.pointer)).toEqual([
      '/PayloadUUID',
      '/PayloadContent/0/PayloadType',
    ]);
    const { status, body } = await uploadNodes(app, nodes, { query: '?strict=false' });
    expect(status).toBe(201);
    const warnings = [
      { pointer: '/PayloadUUID', detail: 'PayloadUUID is no UUID' },
      {
        pointer: '/PayloadContent/0/PayloadType',
        detail: "com.google.Chrome is not a payload type Apple's schema lists",
      },
    ];
    expect(body.meta).toEqual({ warnings });
    const versions = await adminApi(app).get(`/profiles/${body.data.id}/versions`);
    expect(versions.body.data[0].attributes.warnings).toEqual(warnings);
    const again = await uploadNodes(app, nodes);
    expect([again.status, again.body.meta]).toEqual([200, { warnings }]);
  });

  it('accepts dates with a fraction of a second, and warns that it is dropped', async () => {
    const RemovalDate = new Date('2030-01-02T03:04:05Z');
    const xml = buildPlistNodes(profile([], { RemovalDate })).toString();
    const file = Buffer.from(xml.replace('03:04:05Z', '03:04:05.5Z'));
    const strict = await uploadFile(app, file, { query: '?strict=true' });
    const [error] = strict.body.errors;
    expect([strict.status, error.source.pointer]).toEqual([422, '/RemovalDate']);
    const { status, body } = await uploadFile(app, file);
    expect(status).toBe(201);
    const detail = 'the fraction of a second of the date is not kept';
    expect(body.meta).toEqual({ warnings: [{ pointer: '/RemovalDate', detail }] });
    const again = await uploadFile(app, file);
    expect([again.status, again.body.meta]).toEqual([200, body.meta]);
  });

  it('refuses parameters it does not know', async () => {
    for (const [query, parameter] of [
      ['?strict=yes', 'strict'],
      ['?strict=true&strict=false', 'strict'],
      ['?force=true', 'force'],
    ]) {
      const { status, body } = await uploadNodes(app, profile([]), { query: query ?? '' });
      expect([status, body.errors[0].code]).toEqual([400, 'invalid_parameter']);
      expect(body.errors[0].source).toEqual({ parameter });
    }
  });

  it('makes a new version of the profile with the same identifier, whatever its case', async () => {
    const first = profile([payload(WIFI), payload('com.apple.dock')], {
      PayloadIdentifier: 'com.example.versions',
      PayloadDisplayName: 'One',
    });
    const second = profile([payload(WIFI, { Password: 'x' })], {
      PayloadIdentifier: 'COM.example.Versions',
      PayloadDisplayName: 'Two',
    });
    const one = await uploadNodes(app, first);
    const two = await uploadNodes(app, second);
    const { id } = one.body.data;
    expect([two.status, two.body.data.id]).toEqual([201, id]);
    expect(two.body.data.attributes).toMatchObject({
      identifier: 'COM.example.Versions',
      display_name: 'Two',
      current_version: 2,
      holds_secrets: true,
    });
    expect(two.body.data.relationships.payloads.data).toHaveLength(1);
    const versions = await adminApi(app).get(`/profiles/${id}/versions?include=payloads`);
    expect(
      versions.body.data.map(({ attributes, relationships }: Version) => [
        attributes.number,
        attributes.holds_secrets,
        attributes.uploaded_by,
        relationships.payloads.data.length,
      ]),
    ).toEqual([
      [1, false, 'ADMIN_TOKEN', 2],
      [2, true, 'ADMIN_TOKEN', 1],
    ]);
    const payloads = await adminApi(app).get(`/profiles/${id}/payloads`);
    expect(payloads.body.meta.count).toBe(1);
    const lines = await auditLines(id);
    expect(lines.map(({ action, details }) => [action, details.version])).toEqual([
      ['profiles.create', 1],
      ['profiles.update', 2],
    ]);
  });

  it('changes nothing with the same bytes again', async () => {
    const bytes = buildPlistNodes(profile([payload(WIFI)]));
    const first = await uploadFile(app, bytes);
    const before = await countsOf();
    const second = await uploadFile(app, bytes);
    expect([first.status, second.status]).toEqual([201, 200]);
    expect(second.body).toEqual(first.body);
    expect(await countsOf()).toEqual(before);
    expect(await auditLines(first.body.data.id)).toHaveLength(1);
    const older = await uploadFile(app, Buffer.concat([bytes, Buffer.from('\n')]));
    expect([older.status, older.body.data.attributes.current_version]).toEqual([201, 2]);
    const back = await uploadFile(app, bytes);
    expect([back.status, back.body.data.attributes.current_version]).toEqual([201, 3]);
  });

  it('numbers versions one by one when many come at once', async () => {
    const PayloadIdentifier = 'com.example.at.once';
    const uploads = Array.from({ length: 12 }, (_, index) =>
      uploadNodes(app, profile([payload(WIFI)], { PayloadIdentifier, Colour: BigInt(index) })),
    );
    const answers = await Promise.all(uploads);
    expect(answers.map(({ status }) => status)).toEqual(Array(12).fill(201));
    expect(new Set(answers.map(({ body }) => body.data.id)).size).toBe(1);
    const numbers = answers.map(({ body }) => body.data.attributes.current_version);
    expect(numbers.toSorted((one, other) => one - other)).toEqual(
      Array.from({ length: 12 }, (_, index) => index + 1),
    );
    const { id } = answers[0]?.body.data ?? {};
    const current = await app.db.knex('profile_payloads').where({ profile_id: id });
    expect(current).toHaveLength(1);
  });

  it('stores the same bytes once when they come at once', async () => {
    const bytes = buildPlistNodes(profile([payload(WIFI)]));
    const answers = await Promise.all([1, 2, 3, 4].map(() => uploadFile(app, bytes)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 200, 200, 201]);
    const { id } = answers[0]?.body.data ?? {};
    expect(await app.db.knex('profile_versions').where({ profile_id: id })).toHaveLength(1);
  });

  it('records who signed it and keeps the bytes', async () => {
    const signer = await rsaIdentity();
    const signed = buildSignedData({ content: buildPlistNodes(profile([])), signer });
    const { status, body } = await uploadFile(app, signed);
    expect(status).toBe(201);
    expect(body.data.attributes).toMatchObject({ is_signed: true, signer: 'CN=Signer' });
    const [version] = (await adminApi(app).get(`/profiles/${body.data.id}/versions`)).body.data;
    expect(version.attributes).toMatchObject({
      format: 'xml',
      size: signed.length,
      is_signed: true,
      signer: 'CN=Signer',
      signer_fingerprint_sha256: signer.certificate.fingerprint.toString('hex'),
      signer_is_trusted: false,
    });
  });

  it('accepts an Idempotency-Key', async () => {
    const bytes = buildPlistNodes(profile([payload(WIFI)]));
    const headers = { 'Idempotency-Key': 'upload-1' };
    const first = await uploadFile(app, bytes, { headers });
    const second = await uploadFile(app, bytes, { headers });
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(second.headers['idempotency-replayed']).toBe('true');
    expect(second.body).toEqual(first.body);
    const other = await uploadNodes(app, profile([]), { headers });
    expect([other.status, other.body.errors[0].code]).toEqual([422, 'idempotency_key_reused']);
  });

  it('accepts the profile of a real server, and dates at the ends of time', async () => {
    const real = await uploadFile(app, fixture('enroll/enroll.mobileconfig'));
    expect([real.status, real.body.data.attributes.holds_secrets]).toEqual([201, true]);
    for (const time of ['0000-01-01T00:00:00Z', '0001-01-01T00:00:00Z', '9999-12-31T23:59:59Z']) {
      const nodes = profile([], { RemovalDate: new Date(time) });
      const { status, body } = await uploadNodes(app, nodes);
      expect([status, body.data.attributes.removal_date]).toEqual([
        201,
        time.replace('Z', '+00:00'),
      ]);
    }
  });

  it('leaves no secret in the database in plain, nor in the log', async () => {
    const secret = 'correct horse battery staple';
    const nodes = profile([payload(WIFI, { Password: secret })], { Secret: secret });
    const { status, text } = await uploadNodes(app, nodes);
    expect([status, text.includes(secret)]).toEqual([201, false]);
    for (const table of ['profiles', 'profile_versions', 'profile_payloads', 'audit_events']) {
      const rows = await app.db.knex(table);
      const bytes = rows.flatMap((row) => Object.values(row).filter(Buffer.isBuffer));
      expect(bytes.some((value) => value.includes(secret))).toBe(false);
      expect(JSON.stringify(rows)).not.toContain(secret);
    }
    expect(app.logText()).not.toContain(secret);
  });
});
