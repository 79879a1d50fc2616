import { ADMIN_TOKEN } from '../helpers/app.js';
import { eventually } from './admin-client.js';
import { enrolledDevices, type LabFixture, openLabFixture, runSimulation } from './lab-fixture.js';

const SERVER = 'Head Office';

let fixture: LabFixture;
/** What stands for Apple's website. */
let portal: string;

beforeAll(async () => {
  fixture = await openLabFixture();
  const lab = await fetch(`${fixture.app.url}/lab`);
  portal = ((await lab.json()) as { dep: { portal: string } }).dep.portal;
});
afterAll(() => fixture.stop());

function send(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { Authorization: `Bearer ${ADMIN_TOKEN}` };
  return fetch(`${fixture.app.url}${path}`, { headers, ...init });
}

/** As somebody does it with a browser and Apple's website. */
async function uploadToken(): Promise<{ status: number; id: number; attributes: object }> {
  const certificate = await send('/dep/certificate/download');
  const issued = await fetch(`${portal}/token?server=${encodeURIComponent(SERVER)}`, {
    method: 'POST',
    body: await certificate.arrayBuffer(),
  });
  const form = new FormData();
  form.append('file', new Blob([await issued.arrayBuffer()]), 'smime.p7m');
  const upload = await send('/dep/stoken/upload', { method: 'POST', body: form });
  const { data } = (await upload.json()) as { data: { id: number; attributes: object } };
  return { status: upload.status, ...data };
}

async function addDevices(family: string, count: number): Promise<string[]> {
  const reply = await fetch(`${portal}/devices?server=${encodeURIComponent(SERVER)}`, {
    method: 'POST',
    body: JSON.stringify({ family, count }),
  });
  return ((await reply.json()) as { serial_numbers: string[] }).serial_numbers;
}

async function attributesAt(path: string) {
  return (await fixture.api.get(path).expect(200)).body.data.attributes;
}

async function atPortal(serials: string[]): Promise<Record<string, string>[]> {
  const reply = await fetch(`${portal}/devices?serial=${serials.join(',')}`);
  return ((await reply.json()) as { devices: Record<string, string>[] }).devices;
}

async function createProfile(accountId: number): Promise<number> {
  const attributes = { profile_name: 'Office', await_device_configured: true };
  const dep_account = { data: { type: 'dep_accounts', id: accountId } };
  const data = { type: 'dep_profiles', attributes, relationships: { dep_account } };
  const { body } = await fixture.api.post('/dep/profiles', { data }).expect(201);
  return Number(body.data.id);
}

it('goes from a certificate for the portal to a device enrolled with the profile it was given', async () => {
  const macs = await addDevices('Mac', 2);
  const account = await uploadToken();
  expect(account).toMatchObject({ status: 201, attributes: { status: 'unconfirmed' } });
  const path = `/dep/accounts/${account.id}`;
  const synced = await eventually(
    () => attributesAt(path),
    ({ sync_finished_at }) => sync_finished_at !== null,
  );
  expect(synced).toMatchObject({
    status: 'ok',
    server_name: SERVER,
    sync_state: 'idle',
    sync_error: null,
    sync_kind: 'full',
    sync_devices: 12,
  });
  expect(await attributesAt(`${path}/funnel`)).toMatchObject({
    total: 12,
    assigned_or_beyond: 0,
    enrolled: 0,
    failing: 0,
    assignment_due: 0,
  });

  const profileId = await createProfile(account.id);
  const link = { data: { type: 'dep_profiles', id: profileId } };
  const relationships = { default_mac_profile: link };
  const data = { type: 'dep_accounts', id: account.id, relationships };
  await fixture.api.patch(path, { data }).expect(200);
  const assigned = await eventually(
    () => attributesAt(`${path}/funnel`),
    ({ assigned_or_beyond, assignment_due }) => assigned_or_beyond > 0 && assignment_due === 0,
  );
  const { uuid, status } = await attributesAt(`/dep/profiles/${profileId}`);
  expect(status).toBe('defined');
  const atApple = await atPortal(macs);
  expect(atApple.map((device) => [device.profile_uuid, device.profile_status])).toEqual(
    macs.map(() => [uuid.replaceAll('-', '').toUpperCase(), 'assigned']),
  );
  const given = await fixture.app.db.knex('dep_devices').where({ profile_uuid: uuid });
  expect(new Set(given.map(({ device_family }) => device_family))).toEqual(new Set(['Mac']));
  expect(assigned.assigned_or_beyond).toBe(given.length);

  const options = { enroll: 'ade', platform: 'macOS' } as const;
  const { code, output } = await runSimulation(fixture, options);
  expect(output).toContain('Devices:  1 of 1 enrolled');
  expect(code).toBe(0);
  // The answer to DeviceConfigured is handled soon after the simulation has ended.
  const [device, ...others] = await eventually(
    async () => (await enrolledDevices(fixture)).filter(({ udid }) => udid !== null),
    ([first]) => first?.awaiting_configuration === false,
  );
  expect(others).toEqual([]);
  expect(device).toMatchObject({
    enrollment_method: 'automated',
    is_dep: true,
    awaiting_configuration: false,
  });
  const stages = await fixture.api.get(`/dep/devices?filter[stage]=enrolled`).expect(200);
  expect(
    stages.body.data.map(({ attributes }: { attributes: object }) => attributes),
  ).toMatchObject([{ serial_number: device?.serial_number, last_error: null }]);
  expect(await attributesAt(`${path}/funnel`)).toMatchObject({ enrolled: 1, failing: 0 });
});
