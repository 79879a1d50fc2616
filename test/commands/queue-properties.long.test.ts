import fc from 'fast-check';
import { inventoryFacts } from '../../src/commands/eligibility.js';
import { planInventory } from '../../src/commands/inventory-plan.js';
import { CommandQueue } from '../../src/commands/queue.js';
import { SecretBox } from '../../src/crypto/secrets/secret-box.js';
import { inTransaction } from '../../src/db/connection/unit-of-work.js';
import type { CommandRow } from '../../src/db/devices/command-repository.js';
import { adminApi, commandDocument, MASTER_KEY, startApp, type TestApp } from '../helpers/app.js';
import { createTestDatabase, type TestDatabase } from '../helpers/database.js';
import {
  commandIn,
  createTestDevice,
  deviceKeys,
  issueIdentity,
  type Reply,
  TestDevice,
} from '../helpers/device.js';
import { plainProfile } from '../helpers/plain-profile.js';
import { type Answer, QueueModel } from './queue-model.js';

/** `QUEUE_RUNS=100 npx jest test/commands/queue-properties` has thousands of conversations. */
const RUNS = Number(process.env.QUEUE_RUNS ?? 2);
const DEVICES = 24;
const STEPS = 12;

type Step =
  | { step: 'enqueue'; priority: number; isShared: boolean }
  | { step: 'cancel'; nth: number }
  | { step: 'poll'; isLost: boolean }
  | { step: 'answer'; answer: Answer; isLost: boolean }
  | { step: 'repeat'; answer: Answer }
  | { step: 'schedule' }
  | { step: 'enroll' };

type Enqueue = Extract<Step, { step: 'enqueue' }>;

/** A payload that all devices share. */
const SHARED = { Payload: plainProfile().toString('base64') };

const answers = fc.constantFrom<Answer>('Acknowledged', 'Error', 'CommandFormatError', 'NotNow');
const isLost = fc.nat(3).map((n) => n === 0);
const priority = fc.constantFrom(0, 0, 0, 7, -3);
const isShared = fc.nat(2).map((n) => n === 0);
const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ step: fc.constant('enqueue' as const), priority, isShared }),
  },
  { weight: 2, arbitrary: fc.record({ step: fc.constant('cancel' as const), nth: fc.nat() }) },
  { weight: 4, arbitrary: fc.record({ step: fc.constant('poll' as const), isLost }) },
  {
    weight: 8,
    arbitrary: fc.record({ step: fc.constant('answer' as const), answer: answers, isLost }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ step: fc.constant('repeat' as const), answer: answers }),
  },
  { weight: 2, arbitrary: fc.record({ step: fc.constant('schedule' as const) }) },
  { weight: 1, arbitrary: fc.record({ step: fc.constant('enroll' as const) }) },
);
const scripts = fc.array(fc.array(steps, { minLength: 1, maxLength: STEPS }), {
  minLength: DEVICES,
  maxLength: DEVICES,
});

let database: TestDatabase;
let app: TestApp;

beforeAll(async () => {
  database = await createTestDatabase();
  app = await startApp({ database, isSweeping: false });
  await app.container.announce();
});
afterAll(() => app.stop());

/** The scheduler's: it is stopped, so that inventories are due when the script says so. */
const queue = new CommandQueue(new SecretBox(MASTER_KEY));

/** One device that follows a script, beside the model of its queue. */
class ScriptedDevice {
  readonly model = new QueueModel();
  private id = 0;
  private lastId = 0;
  /** The command that the device has received and not answered. */
  private held: string | undefined;
  private answered: string | undefined;

  private constructor(private device: TestDevice) {}

  static async enroll(): Promise<ScriptedDevice> {
    const scripted = new ScriptedDevice(await createTestDevice(app));
    await scripted.enroll();
    return scripted;
  }

  /** After a restart the server has another port. */
  async connect(): Promise<void> {
    const { certificate, ids } = this.device;
    this.device = new TestDevice(app.url, await deviceKeys(), certificate, ids);
  }

  async run(script: readonly Step[]): Promise<void> {
    for (const [index, step] of script.entries()) {
      try {
        await this.perform(step);
      } catch (cause) {
        const done = JSON.stringify(script.slice(0, index + 1));
        throw new Error(`after ${done}: ${String(cause)}`, { cause });
      }
    }
  }

  /** Until the device has answered all that waits. Then every command has a final status. */
  async drain(): Promise<void> {
    do {
      await this.poll(false);
      while (this.held !== undefined) await this.answer('Acknowledged', false);
    } while (this.model.hasWaiting);
    const rows: { uuid: string; status: string }[] = await app.db
      .knex('commands')
      .where({ device_id: this.id })
      .orderBy('id')
      .select('uuid', 'status');
    const expected = this.model.commands.map(({ uuid, status }) => ({ uuid, status }));
    expect(rows).toEqual(expected);
    const open = rows.filter(({ status }) => ['Queued', 'Sent', 'NotNow'].includes(status));
    expect(open).toEqual([]);
  }

  private async perform(step: Step): Promise<void> {
    switch (step.step) {
      case 'enqueue':
        return this.enqueue(step);
      case 'cancel':
        return this.cancel(step.nth);
      case 'poll':
        return this.poll(step.isLost);
      case 'answer':
        return this.held === undefined
          ? this.poll(step.isLost)
          : this.answer(step.answer, step.isLost);
      case 'repeat':
        return this.repeat(step.answer);
      case 'schedule':
        return this.schedule();
      case 'enroll':
        this.device = this.device.with(issueIdentity(app.authority, await deviceKeys()));
        this.model.reenroll();
        return this.enroll();
    }
  }

  /** What Muster queues for a new enrollment is read, not foreseen. */
  private async enroll(): Promise<void> {
    await this.device.enroll();
    const { udid } = this.device;
    const { knex } = app.db;
    ({ id: this.id } = await knex('devices').where({ udid }).first('id'));
    await this.readScheduled();
    this.held = undefined;
  }

  /** What Muster does for a device whose inventory is due. */
  private async schedule(): Promise<void> {
    const target = await app.db.knex('devices').where({ id: this.id }).first();
    const types = planInventory(inventoryFacts(target)).map(({ requestType }) => requestType);
    const expected = this.model.schedule(types);
    await inTransaction(app.db, (trx) => queue.queueInventories(trx, [target]));
    expect(await this.readScheduled()).toEqual(expected);
  }

  private async readScheduled(): Promise<string[]> {
    const rows: CommandRow[] = await app.db
      .knex('commands')
      .where({ device_id: this.id })
      .where('id', '>', this.lastId)
      .orderBy('id');
    for (const { uuid, priority: own, request_type } of rows) {
      this.model.add(uuid, Number(own), request_type);
    }
    this.lastId = rows.at(-1)?.id ?? this.lastId;
    return rows.map(({ request_type }) => request_type);
  }

  private async enqueue({ priority: own, isShared }: Enqueue): Promise<void> {
    const document = isShared
      ? commandDocument(this.id, 'InstallProfile', { priority: own, parameters: SHARED })
      : commandDocument(this.id, 'SecurityInfo', { priority: own });
    const { status, body } = await adminApi(app).post('/commands', document);
    expect(status).toBe(201);
    this.lastId = body.data.id;
    this.model.add(body.data.attributes.uuid, own);
  }

  private async cancel(nth: number): Promise<void> {
    const { commands } = this.model;
    const { uuid } = commands[nth % Math.max(commands.length, 1)] ?? {};
    if (uuid === undefined) return;
    const { id } = await app.db.knex('commands').where({ uuid }).first('id');
    const document = { data: { type: 'commands', id, attributes: { status: 'Cancelled' } } };
    const { status } = await adminApi(app).patch(`/commands/${id}`, document);
    expect(status).toBe(this.model.cancel(uuid) ? 200 : 409);
  }

  private async poll(isAnswerLost: boolean): Promise<void> {
    this.receive(await this.device.idle(), this.model.poll(), isAnswerLost);
  }

  private async answer(answer: Answer, isAnswerLost: boolean): Promise<void> {
    const uuid = this.held ?? '';
    const reply = await this.device.report(uuid, answer);
    this.answered = uuid;
    this.receive(reply, this.model.report(uuid, answer), isAnswerLost);
  }

  /** The device did not see the reply to its report, and sends it once more. */
  private async repeat(answer: Answer): Promise<void> {
    if (this.answered === undefined) return;
    const reply = await this.device.report(this.answered, answer);
    this.receive(reply, this.model.report(this.answered, answer), false);
  }

  private receive(reply: Reply, expected: string | undefined, isAnswerLost: boolean): void {
    expect(reply.status).toBe(200);
    const { uuid, command } = commandIn(reply) ?? {};
    expect(uuid).toBe(expected);
    if (command?.RequestType === 'InstallProfile') {
      expect((command.Payload as Buffer).toString('base64')).toBe(SHARED.Payload);
    }
    this.held = isAnswerLost ? undefined : expected;
  }
}

async function restart(): Promise<void> {
  await app.halt();
  app = await startApp({ database, isSweeping: false });
  await app.container.announce();
}

describe('the queue of a device', () => {
  it(
    `keeps its invariants in ${RUNS * DEVICES} random conversations, with a restart in each`,
    async () => {
      const conversations = fc.asyncProperty(scripts, scripts, async (before, after) => {
        const devices = await Promise.all(before.map(() => ScriptedDevice.enroll()));
        await Promise.all(devices.map((device, index) => device.run(before[index] ?? [])));
        await restart();
        await Promise.all(devices.map((device) => device.connect()));
        await Promise.all(devices.map((device, index) => device.run(after[index] ?? [])));
        await Promise.all(devices.map((device) => device.drain()));
      });
      await fc.assert(conversations, {
        numRuns: RUNS,
        endOnFailure: true,
        reporter: ({ failed, seed, errorInstance }) => {
          if (failed) throw new Error(`seed ${seed}`, { cause: errorInstance });
        },
      });
      const shared = await app.db.knex('commands').where({ request_type: 'InstallProfile' });
      const [first, ...others] = new Set(shared.map((row) => row.payload_sha256?.toString('hex')));
      expect([shared.length > 0, others]).toEqual([true, []]);
      const payloads: Buffer[] = await app.db.knex('command_payloads').pluck('sha256');
      expect(payloads.map((sha256) => sha256.toString('hex'))).toEqual([first]);
    },
    20_000 + RUNS * 20_000,
  );
});
