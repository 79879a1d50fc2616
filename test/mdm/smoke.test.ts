import { startApp, type TestApp } from '../helpers/app.js';
import { commandIn, createTestDevice } from '../helpers/device.js';

describe('smoke', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.stop());
  it('enrolls', async () => {
    const device = await createTestDevice(app);
    await device.enroll({ OSVersion: '17.0' });
    const reply = await device.idle();
    console.log(reply.status, commandIn(reply));
    const rows = await app.db.knex('commands').orderBy('id').select('request_type', 'status');
    console.log(rows, app.logText());
  });
});
