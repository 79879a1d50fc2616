import { adminApi, startApp, type TestApp } from '../helpers/app.js';
import { CHECK_IN_TYPE, createTestDevice, type TestDevice, TOPIC } from '../helpers/device.js';
import { expectEmpty } from './conversation.js';
import { recordsOf } from './records.js';

let app: TestApp;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
});
afterAll(() => app.stop());

const { rowOf, newIdentity } = recordsOf(() => app);

async function checkIn(device: TestDevice, path: string, MessageType: string): Promise<void> {
  const push = { Token: device.token, PushMagic: device.pushMagic };
  const message = { MessageType, Topic: TOPIC, ...device.ids, ...push };
  expectEmpty(await device.send(message, { path, contentType: CHECK_IN_TYPE }));
}

async function enrollAt(path: string, device?: TestDevice): Promise<TestDevice> {
  const enrolling = device ?? (await createTestDevice(app));
  await checkIn(enrolling, path, 'Authenticate');
  await checkIn(enrolling, path, 'TokenUpdate');
  return enrolling;
}

describe('the cell label of a device', () => {
  it('is kept at Authenticate, before the device has enrolled, and shown', async () => {
    const device = await createTestDevice(app);
    await checkIn(device, '/mdm?c=42', 'Authenticate');
    const { id, cell, enrollment_state } = await rowOf(device);
    expect({ cell, enrollment_state }).toEqual({ cell: 42, enrollment_state: 'authenticated' });
    const { body } = await adminApi(app).get(`/devices/${id}`);
    expect(body.data.attributes.cell).toBe(42);
    const { body: list } = await adminApi(app).get('/devices?filter[cell]=42');
    expect(list.data).toHaveLength(1);
  });

  it('is null for a device that enrolls with a ServerURL from before there were labels', async () => {
    expect(await rowOf(await enrollAt('/mdm'))).toMatchObject({ cell: null });
  });

  it.each(['/mdm?c=64', '/mdm?c=x', '/mdm?c=1', '/mdm?d=07'])(
    'is null at %s, and the device is answered all the same',
    async (path) => expect(await rowOf(await enrollAt(path))).toMatchObject({ cell: null }),
  );

  it('is read at the TokenUpdate too, if a process of the version before answered the Authenticate', async () => {
    const device = await createTestDevice(app);
    await checkIn(device, '/mdm', 'Authenticate');
    await checkIn(device, '/mdm?c=09', 'TokenUpdate');
    expect(await rowOf(device)).toMatchObject({ cell: 9, is_enrolled: true });
  });

  it('belongs to the present enrollment', async () => {
    const device = await enrollAt('/mdm?c=03');
    const again = await enrollAt('/mdm?c=61', device.with(await newIdentity()));
    expect(await rowOf(again)).toMatchObject({ cell: 61, enrollment_number: 2 });
    const unlabelled = await enrollAt('/mdm', device.with(await newIdentity()));
    expect(await rowOf(unlabelled)).toMatchObject({ cell: null, enrollment_number: 3 });
  });

  it('is ignored by all messages but those of the enrollment: any label is served alike', async () => {
    const device = await enrollAt('/mdm?c=03');
    for (const path of ['/mdm?c=03', '/mdm?c=04', '/mdm', '/mdm?c=99']) {
      const reply = await device.send(
        { Status: 'NotNow', ...device.ids, CommandUUID: 'x' },
        { path },
      );
      expect(reply.status).toBe(200);
    }
    expect(await rowOf(device)).toMatchObject({ cell: 3 });
  });

  it('cannot be written through the API', async () => {
    const device = await enrollAt('/mdm?c=03');
    const { id } = await rowOf(device);
    const document = { data: { type: 'devices', id, attributes: { cell: 5 } } };
    await adminApi(app).patch(`/devices/${id}`, document).expect(200);
    expect(await rowOf(device)).toMatchObject({ cell: 3 });
  });
});
