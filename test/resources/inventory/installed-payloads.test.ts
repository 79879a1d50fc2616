import { deliver, enrolledTarget } from '../../commands/deliver.js';
import { adminApi, startApp, type TestApp } from '../../helpers/app.js';

let app: TestApp;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
});
afterAll(() => app.stop());

describe('the payloads of an installed profile', () => {
  it('are readable with it, by themselves and by their type, and only that', async () => {
    const target = await enrolledTarget(app);
    const wifi = {
      PayloadType: 'com.apple.wifi.managed',
      PayloadIdentifier: 'org.example.wifi',
      PayloadDisplayName: 'Wi-Fi',
      PayloadUUID: '9F0C2D8A-4B6E-4D3C-8A5E-1F2B3C4D5E6F',
      PayloadVersion: 1,
    };
    const profile = {
      PayloadIdentifier: 'org.example.profile',
      PayloadContent: [wifi, { PayloadType: 'com.apple.font' }],
    };
    await deliver(app, target, { requestType: 'ProfileList', body: { ProfileList: [profile] } });

    const path = `/devices/${target.id}/installed_profiles?include=payloads`;
    const { body } = await adminApi(app).get(path);
    const types = body.included.map(({ type, attributes }: (typeof body.included)[0]) => [
      type,
      attributes.payload_type,
    ]);
    expect(types).toEqual([
      ['installed_payloads', 'com.apple.wifi.managed'],
      ['installed_payloads', 'com.apple.font'],
    ]);

    const query = 'filter[payload_type]=com.apple.wifi.managed&include=installed_profile';
    const found = await adminApi(app).get(`/installed_payloads?${query}`);
    expect(found.body.data.map(({ attributes }: { attributes: object }) => attributes)).toEqual([
      {
        payload_type: 'com.apple.wifi.managed',
        payload_identifier: 'org.example.wifi',
        payload_display_name: 'Wi-Fi',
        payload_uuid: '9F0C2D8A-4B6E-4D3C-8A5E-1F2B3C4D5E6F',
        payload_version: 1,
        payload_description: null,
        payload_organization: null,
      },
    ]);
    expect(found.body.included[0].attributes.payload_identifier).toBe('org.example.profile');

    const data = { type: 'installed_payloads', attributes: { payload_type: 'x' } };
    expect((await adminApi(app).post('/installed_payloads', { data })).status).toBe(405);
  });
});
