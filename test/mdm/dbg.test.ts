import { startApp } from '../helpers/app.js';
import { createTestDevice } from '../helpers/device.js';
it('x', async () => {
  const app = await startApp();
  const d = await createTestDevice(app);
  await d.enroll().catch(() => 0);
  throw new Error(app.logText());
});
