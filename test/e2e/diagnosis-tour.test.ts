import type { SimulateOptions } from '../../src/cli/lab/simulate.js';
import { simulate } from '../../src/cli/lab/simulate.js';
import type { Behavior } from '../../src/lab/devices/behavior.js';
import type { ShownFinding } from '../diagnosis/diagnosis-helpers.js';
import { commandDocument } from '../helpers/app.js';
import { eventually } from './admin-client.js';
import { type LabFixture, openLabFixture, runSimulation } from './lab-fixture.js';

const LIMITS = {
  SILENT_AFTER: '8s',
  BUSY_AFTER: '1s',
  INVENTORY_STALE_AFTER: '8s',
  SETUP_TIMEOUT: '1s',
};

let fixture: LabFixture;
let control: string;
let id: number;
const stopping = new AbortController();
let simulation: Promise<number>;

/** What it finds once it finds something. */
async function come<T>(look: () => T | Promise<T>): Promise<NonNullable<T>> {
  const result = await eventually(async () => await look(), Boolean);
  return result as NonNullable<T>;
}

beforeAll(async () => {
  fixture = await openLabFixture(LIMITS);
  const written: string[] = [];
  const out = { write: (text: string) => written.push(text) };
  const usual = { enroll: 'profile', devices: 1, notNow: 0, pollInterval: 1 } as const;
  const options: SimulateOptions = {
    ...usual,
    ...{ url: fixture.url, concurrency: 4, push: true, forever: true, control: 0, seed: 'tour' },
  };
  simulation = simulate(options, { out, signal: stopping.signal });
  control = await come(() => /control: (\S+)/.exec(written.join(''))?.[1]);
  const row = await come(() =>
    fixture.app.db.knex('devices').where({ is_enrolled: true }).first('id'),
  );
  id = row.id;
});
afterAll(async () => {
  stopping.abort();
  await simulation;
  await fixture.stop();
});

/** What a person would do with the device in their hand. */
async function behave(behavior: Behavior): Promise<void> {
  const answer = await fetch(control, { method: 'POST', body: JSON.stringify({ behavior }) });
  expect([answer.status, await answer.json()]).toMatchObject([200, [{ behavior }]]);
}

const queue = async (requestType: string, parameters?: object) => {
  const document = commandDocument(id, requestType, parameters ? { parameters } : {});
  expect((await fixture.api.post('/commands', document)).status).toBe(201);
};
const ask = () => queue('DeviceInformation', { Queries: ['UDID'] });
const push = () => fixture.api.post(`/devices/${id}/push`);

async function findings(device = id): Promise<ShownFinding[]> {
  return (await fixture.api.get(`/devices/${device}/diagnosis`)).body.data.attributes.findings;
}

/** Resolves with the finding once the diagnosis has it and the summary counts it. */
async function found(code: string, device = id): Promise<ShownFinding> {
  await come(async () => {
    const { body } = await fixture.api.get('/health_summary');
    return body.data.attributes.findings.some((one: ShownFinding) => one.code === code);
  });
  return await come(async () => (await findings(device)).find((one) => one.code === code));
}

/** Resolves once the diagnosis and the summary have it no more. */
async function gone(code: string, device = id): Promise<void> {
  await come(async () => (await findings(device)).every((one) => one.code !== code));
  await come(async () => {
    const { body } = await fixture.api.get('/health_summary');
    return body.data.attributes.findings.every((one: ShownFinding) => one.code !== code);
  });
}

async function act({ action }: ShownFinding): Promise<number> {
  if (action === null) throw new Error('the finding has no action');
  const path = action.path.replace('/api/v1', '');
  const send = action.method === 'PATCH' ? fixture.api.patch : fixture.api.post;
  return (await send(path, action.body ?? {})).status;
}

describe('each diagnosis that the lab can bring about, cured by its own advice', () => {
  it('silent: switch the device on and push it', async () => {
    await behave('silent');
    const finding = await found('silent');
    expect(finding.message).toMatch(/^The device has not contacted the server since /);
    await behave('well');
    expect(await act(finding)).toBe(200);
    await gone('silent');
  });

  it('clock_wrong: have the device set its time and push it', async () => {
    await behave('wrong-clock');
    await push();
    const finding = await found('clock_wrong');
    expect(finding.message).toMatch(/^The clock of the device is 3 hours behind, /);
    await behave('well');
    expect(await act(finding)).toBe(200);
    await gone('clock_wrong');
  });

  it('not_now: unlock the device and push it', async () => {
    await behave('busy');
    await ask();
    const finding = await found('not_now');
    await behave('well');
    expect(await act(finding)).toBe(200);
    await gone('not_now');
  });

  it('command_unanswered: cancel the command', async () => {
    await behave('mute');
    await ask();
    await come(async () => {
      await push();
      return (await findings()).some(({ code }) => code === 'command_unanswered');
    });
    expect(await act(await found('command_unanswered'))).toBe(200);
    await gone('command_unanswered');
    await behave('well');
  });

  it('commands_failing: remove the cause and queue one that succeeds', async () => {
    await behave('failing');
    for (let time = 0; time < 3; time += 1) await ask();
    const finding = await found('commands_failing');
    expect(finding.message).toContain(': The device is set to fail.');
    await behave('well');
    await ask();
    await gone('commands_failing');
  });

  it('inventory_stale: queue an inventory', async () => {
    await behave('silent');
    const finding = await found('inventory_stale');
    await behave('well');
    expect(await act(finding)).toBe(201);
    await gone('inventory_stale');
  });

  it('push_token_refused: the device contacts the server by itself', async () => {
    await behave('bad-token');
    expect((await push()).body.data.attributes.reason).toBe('BadDeviceToken');
    const finding = await found('push_token_refused');
    expect(await act(finding)).toBe(200);
    expect((await findings()).map(({ code }) => code)).toContain('push_token_refused');
    await behave('well');
    await gone('push_token_refused');
  });

  it('topic_mismatch: the device enrolls with the topic that is stored', async () => {
    await behave('wrong-topic');
    expect((await found('topic_mismatch')).message).toContain('com.apple.mgmt.External.');
    await behave('well');
    await gone('topic_mismatch');
  });

  it('unenrolled, enrollment_incomplete, enrollment_replaced: enroll the device again', async () => {
    const again = { seed: 'again', platform: 'iOS' } as const;
    await runSimulation(fixture, { ...again, break: 'half-enrolled' });
    const [device] = await fixture.app.db.knex('devices').whereNot({ id }).pluck('id');
    expect((await found('enrollment_incomplete', device)).severity).toBe('stuck');
    expect((await runSimulation(fixture, again)).code).toBe(0);
    await gone('enrollment_incomplete', device);
    expect((await runSimulation(fixture, again)).code).toBe(0);
    expect((await found('enrollment_replaced', device)).advice).toContain('do nothing');
    await behave('removed');
    const finding = await found('unenrolled');
    expect([finding.severity, finding.action]).toEqual(['info', null]);
    expect((await runSimulation(fixture, { seed: 'tour' })).code).toBe(0);
    await gone('unenrolled');
  });
});

it('the control refuses what is no behavior, no device and no path', async () => {
  const post = (body: object) => fetch(control, { method: 'POST', body: JSON.stringify(body) });
  expect((await post({ behavior: 'lazy' })).status).toBe(400);
  expect((await post({ behavior: 'half-enrolled' })).status).toBe(400);
  expect((await post({ behavior: 'well', serial_number: 'NONE' })).status).toBe(404);
  expect((await fetch(control.replace('/devices', '/'))).status).toBe(404);
  expect((await fetch(control, { method: 'DELETE' })).status).toBe(405);
  expect((await fetch(control, { headers: { Origin: 'http://localhost' } })).status).toBe(403);
  expect(await (await fetch(control)).json()).toEqual([
    { serial_number: expect.any(String), behavior: 'removed', is_enrolled: false },
  ]);
});
