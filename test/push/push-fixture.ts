import { randomBytes, randomUUID } from 'node:crypto';
import { CommandQueue } from '../../src/commands/queue.js';
import { SecretBox } from '../../src/crypto/secrets/secret-box.js';
import type { Database } from '../../src/db/connection/database.js';
import { inTransaction } from '../../src/db/connection/unit-of-work.js';
import { secretLabel } from '../../src/db/devices/device-repository.js';
import type {
  Announcement,
  ChangeFeed,
  ChangeListener,
} from '../../src/db/processes/change-feed.js';
import { requestPushes } from '../../src/db/push/push-enqueue.js';
import { createJobQueue } from '../../src/jobs/job-queue.js';
import { type ApnsStandIn, startApnsStandIn } from '../../src/lab/apns/apns-stand-in.js';
import {
  createLabAuthority,
  issuePushCertificate,
  type LabAuthority,
  privateKeyPem,
} from '../../src/lab/pki/lab-authority.js';
import { CertificateService } from '../../src/pki/certificates/certificate-service.js';
import { ApnsClients } from '../../src/push/apns/apns-clients.js';
import type { ApnsLimits } from '../../src/push/apns/apns-limits.js';
import { createPushCertificateLoader } from '../../src/push/push-certificates.js';
import { PushService } from '../../src/push/push-service.js';
import { createRearmTask, rearmTopics } from '../../src/push/rearm-task.js';
import { createTestDatabase, type TestDatabase } from '../helpers/database.js';
import { capturingLogger, type LogLine } from '../http/log-lines.js';

export const TOPIC = 'com.apple.mgmt.External.aaaaaaaa-0000-4000-8000-000000000001';
const MASTER_KEY = Buffer.alloc(32, 9);

/** A change feed whose notifications the test sends. */
export class HandFeed implements Pick<ChangeFeed, 'on' | 'announce'> {
  readonly announced: Announcement[] = [];
  readonly #listeners = new Map<Announcement, ChangeListener[]>();

  on(topic: Announcement, listener: ChangeListener): void {
    this.#listeners.set(topic, [...(this.#listeners.get(topic) ?? []), listener]);
  }

  announce(topic: 'pushes'): void {
    this.announced.push(topic);
  }

  async notify(topic: Announcement): Promise<void> {
    await Promise.all((this.#listeners.get(topic) ?? []).map((listener) => listener()));
  }
}

export interface Process {
  service: PushService;
  clients: ApnsClients;
  changes: HandFeed;
  results: Map<string, number>;
}

export interface TestTarget {
  id: number;
  token: string;
  pushMagic: string;
}

export interface PushFixture {
  db: Database;
  database: TestDatabase;
  box: SecretBox;
  authority: LabAuthority;
  standIn: ApnsStandIn;
  queue: CommandQueue;
  logLines: LogLine[];
  logText(): string;
  /** One more process of the server, started. */
  start(options?: { dispatches?: boolean; limits?: Partial<ApnsLimits> }): Process;
  /** Enrolled devices without commands. */
  devices(count: number, topic?: string): Promise<TestTarget[]>;
  device(topic?: string): Promise<TestTarget>;
  /** Queues a command, and with it the push. */
  queueCommand(target: TestTarget, after?: Date): Promise<number>;
  /** As a TokenUpdate does. */
  renewToken(target: TestTarget): Promise<void>;
  addCertificate(topic?: string): Promise<number>;
  /** Runs the waiting jobs, as a worker would. */
  runRearmJobs(): Promise<void>;
  pushRow(target: TestTarget): Promise<PushRow | undefined>;
  deviceRow(target: TestTarget): Promise<Record<string, unknown>>;
  accepted(target: TestTarget): number;
  /** Ends all processes and clears all that tests have made but devices. */
  reset(): Promise<void>;
  stop(): Promise<void>;
}

export interface PushRow {
  device_id: number;
  due_at: Date;
  requested_at: Date;
  claimed_at: Date | null;
  attempts: number;
  /** Seconds until it is due. */
  due_in: number;
}

export async function startPushFixture(): Promise<PushFixture> {
  const database = await createTestDatabase();
  const { db } = database;
  const box = new SecretBox(MASTER_KEY);
  const authority = await createLabAuthority();
  const standIn = await startApnsStandIn({ authority });
  const { logger, lines: logLines, text: logText } = capturingLogger();
  const jobs = createJobQueue();
  const processes: Process[] = [];
  const queue = new CommandQueue(box, () => {
    for (const { service } of processes) service.wake();
  });
  const certificates = new CertificateService({
    box,
    onAuthoritiesChange: () => undefined,
    onPushCertificate: (trx, topic) => rearmTopics(jobs, trx, [topic]),
  });

  const start: PushFixture['start'] = ({ dispatches = true, limits = {} } = {}) => {
    const load = createPushCertificateLoader({ db, box });
    const { url: host, caPem: ca } = standIn;
    const clients = new ApnsClients({ host, ca, logger, load, limits });
    const changes = new HandFeed();
    const results = new Map<string, number>();
    const onResult = (result: string, count: number) => {
      results.set(result, (results.get(result) ?? 0) + count);
    };
    const deps = { db, box, clients, jobs, changes, logger, dispatches, onResult };
    const process = { service: new PushService(deps), clients, changes, results };
    process.service.start();
    processes.push(process);
    return process;
  };

  const devices: PushFixture['devices'] = async (count, topic = TOPIC) => {
    const { rows } = await db.knex.raw<{ rows: { id: number }[] }>(
      `insert into devices (udid, enrollment_state, is_enrolled, topic, tokenupdate_at)
       select gen_random_uuid()::text, 'enrolled', true, ?, now() - interval '1 day'
       from generate_series(1, ?::integer) returning id`,
      [topic, count],
    );
    const targets = rows.map(({ id }) => ({
      id,
      token: randomBytes(32).toString('hex'),
      pushMagic: randomUUID(),
    }));
    await storePushTokens(db, box, targets);
    return targets;
  };

  const addCertificate: PushFixture['addCertificate'] = async (topic = TOPIC) => {
    const issued = await issuePushCertificate(authority, { topic });
    return inTransaction(db, (trx) =>
      certificates.add(trx, {
        purpose: 'mdm.pushcert',
        pem_certificate: certificates.present(issued.certificate.der),
        pem_private_key: privateKeyPem(issued),
      }),
    );
  };

  const reset: PushFixture['reset'] = async () => {
    await Promise.all(processes.splice(0).map(({ service }) => service.stop()));
    standIn.clearAnswers();
    standIn.refuseConnections(null);
    logLines.length = 0;
    for (const table of ['device_pushes', 'push_topics', 'commands']) await db.knex(table).delete();
    await db.knex.raw('delete from graphile_worker._private_jobs');
  };

  return {
    db,
    database,
    box,
    authority,
    standIn,
    queue,
    logLines,
    logText,
    start,
    devices,
    addCertificate,
    reset,
    device: async (topic) => {
      const [target] = await devices(1, topic);
      if (target === undefined) throw new Error('no device was made');
      return target;
    },
    queueCommand: (target, after) => queueCommand(db, queue, { target, after }),
    renewToken: async (target) => {
      await storePushTokens(db, box, [target]);
      await inTransaction(db, (trx) => requestPushes(trx, [target.id]));
    },
    runRearmJobs: () => runRearmJobs(db),
    pushRow: ({ id }) =>
      db
        .knex('device_pushes')
        .where({ device_id: id })
        .first<PushRow | undefined>(
          '*',
          db.knex.raw('extract(epoch from due_at - now())::float8 as due_in'),
        ),
    deviceRow: ({ id }) => db.knex('devices').where({ id }).first(),
    accepted: ({ token }) => standIn.token(token)?.accepted ?? 0,
    stop: async () => {
      await reset();
      await standIn.close();
      await database.drop();
    },
  };
}

async function storePushTokens(db: Database, box: SecretBox, targets: TestTarget[]): Promise<void> {
  const sealed = targets.map(({ id, token, pushMagic }) => {
    const plain = Buffer.from(JSON.stringify({ token, push_magic: pushMagic }));
    return box.seal(plain, secretLabel(id, 'push'));
  });
  await db.pool.query(
    `update devices d set sealed_push = s.sealed, push_state = 'ok'
     from unnest($1::bigint[], $2::bytea[]) s (id, sealed) where d.id = s.id`,
    [targets.map(({ id }) => id), sealed],
  );
}

function queueCommand(
  db: Database,
  queue: CommandQueue,
  { target, after }: { target: TestTarget; after: Date | undefined },
): Promise<number> {
  const command = { requestType: 'ProfileList', parameters: {}, options: { after } };
  return inTransaction(db, (trx) => queue.add(trx, target.id, command));
}

async function runRearmJobs(db: Database): Promise<void> {
  const task = createRearmTask({ db, logger: capturingLogger().logger });
  const { rows } = await db.knex.raw<{ rows: { id: number; payload: unknown }[] }>(
    `select j.id, j.payload from graphile_worker._private_jobs j
     join graphile_worker._private_tasks t on t.id = j.task_id where t.identifier = 'push.rearm'`,
  );
  for (const { id, payload } of rows) {
    const { signal } = new AbortController();
    await task.run(task.parse(payload), { jobId: id, attempt: 1, signal });
    await db.knex.raw('delete from graphile_worker._private_jobs where id = ?', [id]);
  }
}

/** Repeats the check until it passes; throws its last failure. */
export async function eventually<T>(look: () => Promise<T> | T, ms = 10_000): Promise<T> {
  const end = Date.now() + ms;
  for (;;) {
    try {
      return await look();
    } catch (error) {
      if (Date.now() > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}
