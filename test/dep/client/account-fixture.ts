import { SecretBox } from '../../../src/crypto/secrets/secret-box.js';
import type { Database } from '../../../src/db/connection/database.js';
import { type DepAccountsDeps, StoredDepAccounts } from '../../../src/dep/client/dep-accounts.js';
import type { DepAccounts } from '../../../src/dep/client/dep-api.js';
import { DepError } from '../../../src/dep/client/dep-error.js';
import type { DepClock, DepLimits } from '../../../src/dep/client/exchange.js';
import { createTestDatabase } from '../../helpers/database.js';
import { capturingLogger, type LogLine } from '../../http/log-lines.js';
import { type DepService, startDepService } from './dep-service.js';

export const NOW = Date.parse('2026-11-22T10:00:00Z');

/** Time passes only by waiting. */
export class HandClock implements DepClock {
  waits: number[] = [];
  #now = NOW;

  now(): number {
    return this.#now;
  }

  wait(milliseconds: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.waits.push(milliseconds);
    this.#now += milliseconds;
    return Promise.resolve();
  }

  reset(): void {
    this.waits = [];
    this.#now = NOW;
  }
}

export interface StatusRow {
  status: string;
  status_text: string | null;
  status_advice: string | null;
  status_at: Date | null;
}

export interface AccountValues {
  consumer_key?: string | null;
  consumer_secret?: string;
  /** Goes with the consumer secret when absent. */
  access_secret?: string;
  access_token?: string;
  access_token_expiry?: Date | null;
  url?: string | null;
  status?: string;
}

export interface AccountFixture {
  db: Database;
  service: DepService;
  clock: HandClock;
  lines: LogLine[];
  /** One process of the server. */
  start(deps?: Partial<DepAccountsDeps>): DepAccounts & { close(): void };
  addAccount(values?: AccountValues): Promise<number>;
  changeAccount(id: number, values: AccountValues): Promise<void>;
  status(id: number): Promise<StatusRow>;
  reset(): Promise<void>;
  stop(): Promise<void>;
}

const LIMITS: Partial<DepLimits> = { connect: 5_000, answer: 5_000 };

export async function startAccountFixture(): Promise<AccountFixture> {
  const database = await createTestDatabase();
  const { db } = database;
  const box = new SecretBox(Buffer.alloc(32, 7));
  const service = await startDepService();
  const clock = new HandClock();
  const { logger, lines } = capturingLogger();
  const started: { close(): void }[] = [];

  const changeAccount = async (id: number, values: AccountValues) => {
    const { consumer_secret: secret, access_secret: access = `${secret}_access`, ...open } = values;
    const seal = (text: string, name: string) =>
      box.seal(Buffer.from(text), `dep_accounts/${id}/${name}`);
    const sealed = secret !== undefined && {
      sealed_consumer_secret: seal(secret, 'consumer_secret'),
      sealed_access_secret: seal(access, 'access_secret'),
    };
    await db
      .knex('dep_accounts')
      .where({ id })
      .update({ ...open, ...sealed });
  };

  return {
    db,
    service,
    clock,
    lines,
    changeAccount,
    start(deps = {}) {
      const process = new StoredDepAccounts({
        db,
        box,
        logger,
        clock,
        host: service.host,
        ca: undefined,
        isLabOn: false,
        musterVersion: '1.2.3',
        limits: LIMITS,
        ...deps,
      });
      started.push(process);
      return process;
    },
    async addAccount(values = {}) {
      const [row] = await db
        .knex('dep_accounts')
        .insert({ status: 'ok' })
        .returning<{ id: number }[]>('id');
      if (row === undefined) throw new Error('no row');
      const token = { consumer_key: 'CK_1', access_token: 'AT_1', consumer_secret: 'CS_1' };
      await changeAccount(row.id, { ...token, ...values });
      return row.id;
    },
    async status(id) {
      const row = await db
        .knex('dep_accounts')
        .where({ id })
        .first<StatusRow | undefined>('status', 'status_text', 'status_advice', 'status_at');
      if (row === undefined) throw new Error('no row');
      return row;
    },
    async reset() {
      for (const process of started.splice(0)) process.close();
      await db.knex('dep_accounts').del();
      service.reset();
      clock.reset();
      lines.length = 0;
    },
    async stop() {
      for (const process of started) process.close();
      await service.stop();
      await database.drop();
    },
  };
}

/** What the work is refused by. */
export async function failureOf(work: Promise<unknown>): Promise<DepError> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof DepError)) throw new Error('not a DepError', { cause: error });
  return error;
}
