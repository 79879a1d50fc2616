import { adminApi, commandDocument, type TestApp } from '../helpers/app.js';
import { commandIn, createTestDevice, type Fields, type TestDevice } from '../helpers/device.js';

export interface Target {
  device: TestDevice;
  id: number;
}

/** An enrolled device whose first inventory is out of the way. */
export async function enrolledTarget(app: TestApp, facts: Fields = {}): Promise<Target> {
  const device = await (await createTestDevice(app)).enroll(facts);
  const { id } = await app.db.knex('devices').where({ udid: device.udid }).first('id');
  await app.db.knex('commands').where({ device_id: id }).delete();
  return { device, id };
}

/** The one handled command that has a required parameter. */
function usualParameters(requestType: string): object {
  return requestType === 'DeviceInformation' ? { Queries: ['DeviceName'] } : {};
}

/** Queues a command, hands it out and answers it; returns its UUID once the answer is handled. */
export async function deliver(
  app: TestApp,
  { device, id }: Target,
  {
    requestType,
    body,
    parameters = usualParameters(requestType),
  }: { requestType: string; body: Fields; parameters?: object | undefined },
): Promise<string> {
  const queued = await adminApi(app).post(
    '/commands',
    commandDocument(id, requestType, { parameters }),
  );
  if (queued.status !== 201) throw new Error(JSON.stringify(queued.body));
  const uuid = commandIn(await device.idle())?.uuid ?? 'nothing was offered';
  const reply = await device.report(uuid, 'Acknowledged', body);
  if (reply.status !== 200) throw new Error(`the report was answered ${reply.status}`);
  await app.waitForReports();
  return uuid;
}
