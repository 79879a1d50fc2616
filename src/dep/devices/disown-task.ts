import { z } from 'zod';
import type { Database } from '../../db/connection/database.js';
import { inTransaction } from '../../db/connection/unit-of-work.js';
import {
  claimDisown,
  type DeviceActionOutcome,
  storeDisowned,
} from '../../db/dep/dep-device-actions.js';
import { AppError } from '../../errors.js';
import type { JobQueue } from '../../jobs/job-queue.js';
import type { Task } from '../../jobs/task.js';
import type { Logger } from '../../logger.js';
import type { DepAccounts, SerialResults } from '../client/dep-api.js';
import { DepError } from '../client/dep-error.js';
import { ExchangeFailure } from '../client/exchange-failure.js';
import type { DepJobs } from '../dep-jobs.js';
import { DISOWN } from './disown.js';

const PAYLOAD = z.object({ accountId: z.int(), ids: z.array(z.int()) });

export interface DepDeviceTaskDeps {
  db: Database;
  accounts: DepAccounts;
  queue: JobQueue;
  jobs: DepJobs;
  logger: Logger;
}

interface Claimed {
  id: number;
  serial_number: string;
}

const DEFAULT_WAIT_MS = 5 * 60 * 1000;

/** When to retry; in five minutes if Apple named no time. */
export function retryTime({ retryAt }: DepError): Date {
  return retryAt ?? new Date(Date.now() + DEFAULT_WAIT_MS);
}

/** Has Apple disown devices: each is sent once, and again only if Apple certainly did nothing. */
export function createDisownTask(deps: DepDeviceTaskDeps): Task<z.infer<typeof PAYLOAD>> {
  return {
    name: DISOWN,
    parse: (payload) => PAYLOAD.parse(payload),
    run: async ({ accountId, ids }, { signal }) => {
      signal.throwIfAborted();
      const claimed = await inTransaction(deps.db, (trx) => claimDisown(trx, ids));
      if (claimed.length === 0) return;
      const serials = claimed.map(({ serial_number }) => serial_number);
      try {
        const work = { signal };
        const results = await deps.accounts.use(accountId, (api) => api.disown(serials), work);
        await storeResults(deps, accountId, outcomesOf(claimed, results));
      } catch (error) {
        await storeFailure(deps, accountId, { claimed, error });
      }
    },
  };
}

function outcomesOf(claimed: readonly Claimed[], results: SerialResults): DeviceActionOutcome[] {
  return claimed.map(({ id, serial_number }) => {
    const result = results.get(serial_number) ?? 'no_answer';
    const failure =
      result === 'no_answer' ? "Apple's answer does not mention the serial number" : result;
    return { id, result, failure: result === 'SUCCESS' ? null : failure };
  });
}

/** The following sync marks them as removed. */
async function storeResults(
  { db, jobs, logger }: DepDeviceTaskDeps,
  accountId: number,
  outcomes: DeviceActionOutcome[],
): Promise<void> {
  await inTransaction(db, async (trx) => {
    await storeDisowned(trx, outcomes);
    await jobs.sync(trx, accountId);
  });
  const disowned = outcomes.filter(({ result }) => result === 'SUCCESS').length;
  const counts = { devices: outcomes.length, disowned };
  logger.info({ depAccountId: accountId, ...counts }, 'disowning of devices requested from Apple');
}

/** After an unexpected error the rows stay `sent`; the next attempt makes them `no_answer`. */
async function storeFailure(
  { db, queue, logger }: DepDeviceTaskDeps,
  accountId: number,
  { claimed, error }: { claimed: readonly Claimed[]; error: unknown },
): Promise<void> {
  const outcome = failureOf(error);
  if (outcome === undefined) throw error;
  const { result, failure, runAt } = outcome;
  const ids = claimed.map(({ id }) => id);
  await inTransaction(db, async (trx) => {
    await storeDisowned(
      trx,
      ids.map((id) => ({ id, result, failure })),
    );
    if (runAt) await queue.add(trx, { name: DISOWN }, { accountId, ids }, { runAt });
  });
  logger.warn({ depAccountId: accountId, detail: failure, result }, 'devices were not disowned');
}

interface DisownFailure {
  result: 'requested' | 'refused' | 'no_answer';
  failure: string;
  /** Only if Apple certainly did nothing and waiting helps. */
  runAt?: Date;
}

/** Failures after which Apple certainly did nothing. */
const NOT_DONE = ['terms_not_signed', 'token_rejected', 'token_expired', 'lab_off', 'refused'];
const TOO_MANY_REQUESTS = 429;

/** Whether the request never left this server. */
function isUnsent({ cause }: DepError): boolean {
  return cause instanceof ExchangeFailure && !cause.mayHaveArrived;
}

function failureOf(error: unknown): DisownFailure | undefined {
  // The account was deleted or has no token.
  if (error instanceof AppError && error.status < 500) {
    return { result: 'refused', failure: error.message };
  }
  if (!(error instanceof DepError)) return undefined;
  const failure = error.text === '' ? error.message : `${error.message}: ${error.text}`;
  if (NOT_DONE.includes(error.kind) || isUnsent(error)) return { result: 'refused', failure };
  if (error.kind === 'throttled' && error.status === TOO_MANY_REQUESTS) {
    return { result: 'requested', failure, runAt: retryTime(error) };
  }
  return {
    result: 'no_answer',
    failure: `${failure}; the next sync shows whether Apple disowned it`,
  };
}
