import { startApp } from '../helpers/app.js';
import { createTestDevice } from '../helpers/device.js';
import { duringOutage } from '../helpers/outage.js';

describe('a server whose database is away', () => {
  it('stops, though times of contact are left that could not be written', async () => {
    const app = await startApp();
    const device = await (await createTestDevice(app)).enroll();
    await device.idle();
    await duringOutage(app.database, () => app.halt());
    const lines = app.logLines.map(({ msg }) => msg);
    expect(lines).toContain('times of contact could not be written');
    await app.database.drop();
  });
});
