import { buildSignedData } from '../../../src/crypto/cms/cms-signed-data.js';
import { buildPlistNodes, type PlistNodeDict } from '../../../src/protocol/plist/plist.js';
import { rsaIdentity } from '../../crypto/identities.js';
import { adminApi, startApp, type TestApp } from '../../helpers/app.js';
import { type Members, payload, profile } from '../../profiles/sample-profiles.js';
import { downloadFile, uploadFile, uploadNodes } from '../profile-samples.js';

const KNOWN =
  'known are $SERIAL, $UDID, $DEVICE_NAME, $ASSET_TAG, $USER_NAME, $USER_EMAIL, $ATTRIBUTE_name, $SECRET_name and ' +
  '$$ for a dollar';

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ isSweeping: false });
});
afterAll(() => app.stop());

function wifi(ssid: string, members: Members = {}): PlistNodeDict {
  const values = { SSID_STR: ssid, EncryptionType: 'None' };
  return profile([payload('com.apple.wifi.managed', values)], members);
}

async function versionOf(profileId: number) {
  const columns = ['variables', 'is_rendered', 'warnings'];
  return await app.db.knex('profile_versions').where({ profile_id: profileId }).first(columns);
}

describe('variables of an uploaded profile', () => {
  it.each([
    ['$ROOM', `$ROOM is no variable and stays as it is; ${KNOWN}`],
    [
      `$ATTRIBUTE_room $ATTRIBUTE_ \${serial}`,
      `$ATTRIBUTE_, $serial is no variable and stays as it is; ${KNOWN}`,
    ],
    [
      '$SECRET_none',
      'there is no profile secret none: devices wait until it is added at /profile_secrets',
    ],
  ])('are refused by strict=true in %j, and are a warning otherwise', async (ssid, detail) => {
    const nodes = wifi(ssid);
    const pointer = '/PayloadContent/0/SSID_STR';
    const refused = await uploadNodes(app, nodes, { query: '?strict=true' });
    expect([refused.status, refused.body.errors]).toMatchObject([
      422,
      [{ code: 'invalid_profile', detail: `${pointer}: ${detail}`, source: { pointer } }],
    ]);
    const { status, body } = await uploadNodes(app, nodes);
    expect([status, body.meta.warnings]).toEqual([201, [{ pointer, detail }]]);
    expect((await versionOf(body.data.id)).warnings).toEqual([{ pointer, detail }]);
  });

  it('are stored by their names, and the download has them as they were', async () => {
    const nodes = wifi(`$SERIAL \${DEVICE_NAME} $SERIAL`);
    const { status, body } = await uploadNodes(app, nodes, { query: '?strict=true' });
    expect([status, body.meta.warnings]).toEqual([201, []]);
    expect(await versionOf(body.data.id)).toMatchObject({
      variables: ['DEVICE_NAME', 'SERIAL'],
      is_rendered: true,
    });
    const { body: file } = await downloadFile(app, String(body.data.id));
    expect(file.equals(buildPlistNodes(nodes))).toBe(true);
  });

  it.each([
    ['$$', { variables: [], is_rendered: true }],
    ['$5', { variables: [], is_rendered: false }],
    ['$ROOM', { variables: [], is_rendered: false }],
  ])('%j is %j', async (ssid, expected) => {
    const { body } = await uploadNodes(app, wifi(ssid));
    expect(await versionOf(body.data.id)).toMatchObject(expected);
  });

  it('stay literal in an identifier, with a warning', async () => {
    const { body } = await uploadNodes(
      app,
      wifi('x', { PayloadIdentifier: 'org.example.$SERIAL' }),
    );
    expect(body.meta.warnings).toEqual([
      {
        pointer: '/PayloadIdentifier',
        detail: '$SERIAL stays as it is: devices know the profile and its payloads by this name',
      },
    ]);
    expect(await versionOf(body.data.id)).toMatchObject({ variables: [], is_rendered: false });
  });

  it('stay literal in a signed file, with a warning; the file stays as it is', async () => {
    const content = buildPlistNodes(wifi('$SERIAL $ROOM $$'));
    const signed = buildSignedData({ content, signer: await rsaIdentity() });
    const { status, body } = await uploadFile(app, signed);
    expect([status, body.meta.warnings]).toEqual([
      201,
      [
        {
          pointer: '/PayloadContent/0/SSID_STR',
          detail:
            '$SERIAL stays as it is: a signed profile is sent byte for byte; upload it unsigned',
        },
      ],
    ]);
    expect(await versionOf(body.data.id)).toMatchObject({ variables: [], is_rendered: false });
    const { body: file } = await downloadFile(app, `${body.data.id}?original=true`);
    expect(file.equals(signed)).toBe(true);
  });

  it('are shown with the version', async () => {
    const { body } = await uploadNodes(app, wifi('$UDID'));
    const shown = await adminApi(app).get(`/profiles/${body.data.id}/versions`);
    expect(shown.body.data).toHaveLength(1);
    expect(shown.body.data[0].attributes).toMatchObject({
      variables: ['UDID'],
      is_rendered: true,
    });
  });
});
