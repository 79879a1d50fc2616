import type { Database } from '../../src/db/connection/database.js';
import { createEvaluateTask } from '../../src/groups/evaluate-task.js';
import { createGroupTasks } from '../../src/groups/group-tasks.js';
import { LoadedRules } from '../../src/groups/loaded-rules.js';
import { MarkWorker } from '../../src/groups/mark-worker.js';
import { resourceRegistry } from '../../src/server/resource-services.js';
import { adminApi, startApp, type TestApp } from '../helpers/app.js';
import { capturingLogger } from '../http/log-lines.js';

export interface SmartGroupTest {
  app: TestApp;
  api: ReturnType<typeof adminApi>;
  logText(): string;
  /** A process of its own, as far as rules are concerned. */
  worker(): MarkWorker;
  create(rule: object[], name?: string): Promise<number>;
  change(id: number, rule: object[]): Promise<void>;
  /** Runs the job of a saved rule. */
  evaluate(id: number): Promise<void>;
  /** Evaluates all marks. */
  evaluateMarks(): Promise<void>;
  /** Runs a scheduled task. */
  run(task: 'groups.times' | 'groups.flaps'): Promise<void>;
  members(id: number): Promise<number[]>;
  unknowns(id: number): Promise<number[]>;
}

const CONTEXT = { jobId: 1, attempt: 1, signal: new AbortController().signal };

/** The server without its background work, whose steps the tests take themselves. */
export async function startSmartGroups(): Promise<SmartGroupTest> {
  const app = await startApp({ isSweeping: false });
  const { db } = app;
  const api = adminApi(app);
  const { logger, text } = capturingLogger();
  const loaded = () => new LoadedRules({ registry: resourceRegistry(), logger });
  const worker = () => new MarkWorker({ db, logger, rules: loaded() });
  const rules = loaded();
  const main = worker();
  const idsIn = (table: string, id: number): Promise<number[]> =>
    db.knex(table).where({ device_group_id: id }).orderBy('device_id').pluck('device_id');
  return {
    app,
    api,
    logText: text,
    worker,
    async create(rule, name = `group ${Math.random()}`) {
      const attributes = { name, kind: 'smart', rule };
      const answer = await api.post('/device_groups', {
        data: { type: 'device_groups', attributes },
      });
      expect([answer.status, answer.body.errors]).toEqual([201, undefined]);
      return answer.body.data.id;
    },
    async change(id, rule) {
      const data = { type: 'device_groups', attributes: { rule } };
      expect((await api.patch(`/device_groups/${id}`, { data })).status).toBe(200);
    },
    async evaluate(id) {
      const { rule_number: number } = await db.knex('device_groups').where({ id }).first();
      await createEvaluateTask({ db, logger, rules }).run({ id, number }, CONTEXT);
    },
    evaluateMarks: () => main.evaluateAll(),
    async run(name) {
      const task = createGroupTasks({ db, logger }).find((one) => one.name === name);
      await task?.run(undefined, CONTEXT);
    },
    members: (id) => idsIn('device_group_devices', id),
    unknowns: (id) => idsIn('device_group_unknown_devices', id),
  };
}

export async function insertDevice(db: Database, row: object = {}): Promise<number> {
  const [{ id }] = await db.knex('devices').insert(row).returning('id');
  return id;
}
