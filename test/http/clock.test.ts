import { rsaIdentity } from '../crypto/identities.js';
import { startApp, type TestApp } from '../helpers/app.js';
import { atTime } from '../helpers/clock.js';
import { createTestDevice, type TestDevice } from '../helpers/device.js';

const DAY_MS = 86_400_000;

let app: TestApp;
let device: TestDevice;
let start: Date;
let before: Date;

beforeAll(async () => {
  app = await startApp();
  device = await (await createTestDevice(app)).enroll();
  start = app.authority.certificate.notBefore;
  before = new Date(start.getTime() - DAY_MS);
});
afterAll(() => app.stop());

describe('a server whose clock is before the start of its CA', () => {
  it('makes /readyz answer 503 with what to do', async () => {
    const reply = await atTime(before, () => fetch(`${app.url}/readyz`));
    expect(reply.status).toBe(503);
    expect(await reply.json()).toMatchObject({
      checks: { database: 'ok', certificate_authority: 'failed' },
      reasons: {
        certificate_authority:
          `The clock of this server says ${before.toISOString()}, but its certificate authority ` +
          `is valid from ${start.toISOString()}: set the clock`,
      },
    });
    expect((await fetch(`${app.url}/readyz`)).status).toBe(200);
  });

  it('answers 503 with Retry-After to enrolled devices, not 400', async () => {
    const replies = await atTime(before, async () => [
      await device.idle(),
      await device.tokenUpdate(),
    ]);
    for (const { status, headers } of replies) {
      expect([status, headers.get('retry-after')]).toEqual([503, '30']);
    }
    expect(app.logText()).toContain('set the clock');
    expect((await device.idle()).status).toBe(200);
  });

  it('answers 400 to a certificate of another CA as before', async () => {
    const other = await rsaIdentity();
    const reply = await atTime(before, () => device.with(other.certificate).idle());
    expect(reply.status).toBe(400);
  });

  it('answers 503 to a SCEP request', async () => {
    const reply = await atTime(before, () =>
      fetch(`${app.url}/scep?operation=PKIOperation`, { method: 'POST', body: 'x' }),
    );
    expect([reply.status, reply.headers.get('retry-after')]).toEqual([503, '30']);
  });
});
