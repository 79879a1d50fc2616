import { startApp, type TestApp } from '../helpers/app.js';
import { longestTurnBelow } from '../helpers/loop-busy.js';
import { dict, payload, profileBytes } from '../profiles/sample-profiles.js';
import { downloadFile, uploadFile } from './profile-samples.js';

/** A plain reading of 4.5 MB of the smallest values takes 300 ms and more. */
const MAX_TURN_MS = 150;

let app: TestApp;

beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.stop());

function largeProfile(values: number): Buffer {
  const Items = Array.from({ length: values }, (_, at) => `value ${at}`);
  return profileBytes([payload('com.example.large', { Settings: dict({ Items }) })]);
}

describe('a configuration profile of megabytes', () => {
  it('is checked, stored and put together without holding up the event loop', async () => {
    let file = largeProfile(10_000);
    let id = 0;
    const upload = async () => {
      const reply = await uploadFile(app, file);
      expect(reply.status).toBe(201);
      id = reply.body.data.id;
    };
    await upload(); // starts the thread
    let values = 130_000;
    const uploading = await longestTurnBelow(MAX_TURN_MS, async () => {
      values += 1;
      file = largeProfile(values);
      return upload;
    });
    const downloading = await longestTurnBelow(MAX_TURN_MS, async () => async () => {
      expect((await downloadFile(app, `${id}`)).body.equals(file)).toBe(true);
    });
    expect(Math.max(uploading, downloading)).toBeLessThan(MAX_TURN_MS);
  });

  it('is refused with every fault in it', async () => {
    const file = profileBytes([payload('com.apple.dock', { autohide: 'x'.repeat(100_000) })]);
    const { status, body } = await uploadFile(app, file);
    expect(status).toBe(422);
    expect(body.errors[0]).toMatchObject({
      code: 'invalid_profile',
      source: { pointer: '/PayloadContent/0/autohide' },
    });
    const unreadable = Buffer.from(file.toString().replace('</plist>', ''));
    expect((await uploadFile(app, unreadable)).body.errors[0].code).toBe('invalid_plist');
  });
});
