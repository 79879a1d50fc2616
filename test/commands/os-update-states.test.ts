import { adminApi, startApp, type TestApp } from '../helpers/app.js';
import type { Fields } from '../helpers/device.js';
import { deliver, enrolledTarget, type Target } from './deliver.js';

let app: TestApp;
let target: Target;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
});
afterAll(() => app.stop());
beforeEach(async () => {
  target = await enrolledTarget(app);
  await app.db
    .knex('devices')
    .where({ id: target.id })
    .update({ platform: 'macOS', os_version: '15.6', is_supervised: true });
});

const available = (...AvailableOSUpdates: Fields[]) =>
  deliver(app, target, { requestType: 'AvailableOSUpdates', body: { AvailableOSUpdates } });
const statusOf = (...OSUpdateStatus: Fields[]) =>
  deliver(app, target, { requestType: 'OSUpdateStatus', body: { OSUpdateStatus } });
const schedule = (...UpdateResults: Fields[]) =>
  deliver(app, target, {
    requestType: 'ScheduleOSUpdate',
    parameters: { Updates: [{ ProductKey: 'a', InstallAction: 'InstallASAP' }] },
    body: { UpdateResults },
  });

/** The attributes of the device's updates, without nulls. */
async function updates(): Promise<Record<string, unknown>[]> {
  const path = `/devices/${target.id}/available_os_updates?sort=product_key`;
  const { body } = await adminApi(app).get(path);
  return body.data.map(({ attributes }: { attributes: object }) =>
    Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== null)),
  );
}

const DOWNLOADING = {
  ProductKey: 'a',
  IsDownloaded: false,
  DownloadPercentComplete: 0.25,
  Status: 'Downloading',
  MaxDeferrals: 5,
  DeferralsRemaining: 3,
  NextScheduledInstall: new Date('2026-12-01T02:00:00Z'),
  PastNotifications: [new Date('2026-11-20T08:00:00Z')],
};
const ERROR = {
  ErrorCode: 12_021,
  ErrorDomain: 'MCMDMErrorDomain',
  LocalizedDescription: 'Kein Update.',
  USEnglishDescription: 'The update is not available.',
};
const STATE = {
  is_downloaded: false,
  download_percent_complete: 0.25,
  status: 'Downloading',
  max_deferrals: 5,
  deferrals_remaining: 3,
  next_scheduled_install: '2026-12-01T02:00:00+00:00',
  past_notifications: ['2026-11-20T08:00:00+00:00'],
};

describe('OSUpdateStatus', () => {
  it('says how far the updates are, also ones that were not listed', async () => {
    await available({ ProductKey: 'a', Version: '15.7' }, { ProductKey: 'b', Version: '16.0' });
    await statusOf(DOWNLOADING, { ProductKey: 'c', Status: 'Idle' }, { Status: 'Idle' });
    expect(await updates()).toEqual([
      { product_key: 'a', version: '15.7', ...STATE },
      { product_key: 'b', version: '16.0' },
      { product_key: 'c', status: 'Idle' },
    ]);
  });

  it('clears the state of updates that it no longer mentions', async () => {
    await statusOf(DOWNLOADING, { ProductKey: 'b', Status: 'Installing', IsDownloaded: true });
    await statusOf({ ProductKey: 'b', Status: 'Idle' });
    expect(await updates()).toEqual([{ product_key: 'a' }, { product_key: 'b', status: 'Idle' }]);
    await statusOf();
    expect(await updates()).toEqual([{ product_key: 'a' }, { product_key: 'b' }]);
  });

  it('keeps its state when the list reports the same or other facts of the update', async () => {
    await available({ ProductKey: 'a', Version: '15.7' }, { ProductKey: 'b', Version: '16.0' });
    await statusOf(DOWNLOADING, { ...DOWNLOADING, ProductKey: 'b' });
    const ids = () =>
      app.db.knex('available_os_updates').where({ device_id: target.id }).orderBy('id').pluck('id');
    const before = await ids();
    await available({ ProductKey: 'a', Version: '15.7' }, { ProductKey: 'b', Version: '16.1' });
    expect(await updates()).toEqual([
      { product_key: 'a', version: '15.7', ...STATE },
      { product_key: 'b', version: '16.1', ...STATE },
    ]);
    expect((await ids())[0]).toBe(before[0]);
    await available({ ProductKey: 'b', Version: '16.1' });
    expect(await updates()).toEqual([{ product_key: 'b', version: '16.1', ...STATE }]);
  });
});

describe('ScheduleOSUpdate', () => {
  it('says what the device does with each update, and the command names refused ones', async () => {
    await available({ ProductKey: 'a', Version: '15.7' });
    const refused = {
      ProductKey: 'a',
      InstallAction: 'Error',
      Status: 'DownloadFailed',
      ErrorChain: [ERROR],
    };
    const taken = { ProductKey: 'b', InstallAction: 'InstallASAP', Status: 'Downloading' };
    const uuid = await schedule(refused, taken);
    expect(await updates()).toEqual([
      {
        product_key: 'a',
        version: '15.7',
        install_action: 'Error',
        status: 'DownloadFailed',
        error_chain: [ERROR],
      },
      { product_key: 'b', install_action: 'InstallASAP', status: 'Downloading' },
    ]);
    const listed = await adminApi(app).get('/available_os_updates?filter[install_action]=Error');
    expect(listed.body.meta.total).toBe(1);
    const { id } = await app.db.knex('commands').where({ uuid }).first('id');
    const { body } = await adminApi(app).get(`/commands/${id}`);
    expect(body.data.attributes).toMatchObject({
      status: 'Acknowledged',
      reason: 'the device refused a',
      error_chain: [{ ...ERROR, Item: 'a' }],
    });
    const timeline = await adminApi(app).get(`/commands/${id}/timeline`);
    expect(timeline.body.data.attributes.steps.at(-1).message).toBe(
      'The device acknowledged the command, but refused a (The update is not available.).',
    );
  });

  it('makes no row of an update without ProductKey, and says that the device refused one', async () => {
    const uuid = await schedule({ InstallAction: 'Error', Status: 'Idle', ErrorChain: [ERROR] });
    expect(await updates()).toEqual([]);
    const { reason } = await app.db.knex('commands').where({ uuid }).first('reason');
    expect(reason).toBe('the device refused an update without ProductKey');
  });

  it('that succeeds later clears the errors, and leaves other updates and the download alone', async () => {
    await statusOf(DOWNLOADING);
    const Status = 'Idle';
    await schedule(
      { ProductKey: 'a', InstallAction: 'Error', Status, ErrorChain: [ERROR] },
      { ProductKey: 'b', InstallAction: 'InstallLater', Status },
    );
    await schedule({ ProductKey: 'a', InstallAction: 'InstallASAP', Status: 'Installing' });
    expect(await updates()).toEqual([
      { product_key: 'a', ...STATE, install_action: 'InstallASAP', status: 'Installing' },
      { product_key: 'b', install_action: 'InstallLater', status: 'Idle' },
    ]);
  });
});
