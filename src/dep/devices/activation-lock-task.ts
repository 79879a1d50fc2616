import { z } from 'zod';
import { hashBypassCode, parseBypassCode } from '../../crypto/secrets/bypass-code.js';
import type { SecretBox } from '../../crypto/secrets/secret-box.js';
import { inTransaction, type Transaction } from '../../db/connection/unit-of-work.js';
import {
  findLockable,
  type LockableRow,
  storeActivationLock,
} from '../../db/dep/dep-device-actions.js';
import { secretLabel } from '../../db/devices/device-repository.js';
import { findLatestSecret, repeatSecret } from '../../db/devices/device-secrets.js';
import { AppError } from '../../errors.js';
import type { Task } from '../../jobs/task.js';
import { DepError } from '../client/dep-error.js';
import { ACTIVATION_LOCK, ALREADY_LOCKED, BYPASS_CODE } from './activation-lock.js';
import { type DepDeviceTaskDeps, retryTime } from './disown-task.js';

const PAYLOAD = z.object({
  id: z.int(),
  secretId: z.int(),
  /** The secret with the bypass code of the device's previous lock. */
  formerSecretId: z.int().optional(),
  lostMessage: z.string().optional(),
  /** Attempts for which Apple was unreachable. */
  missed: z.int().default(0),
});

type Payload = z.infer<typeof PAYLOAD>;

/** Waits from 3 minutes to 6 hours: half a day in total. */
const MAX_MISSED = 8;
const FIRST_WAIT_MS = 3 * 60 * 1000;

/** Has Apple lock a device. Repeating it is harmless, since the bypass code stays the same. */
export function createActivationLockTask(
  deps: Omit<DepDeviceTaskDeps, 'jobs'> & { box: SecretBox },
): Task<Payload> {
  return {
    name: ACTIVATION_LOCK,
    parse: (payload) => PAYLOAD.parse(payload),
    run: async (payload, { signal }) => {
      const { id } = payload;
      const found = await inTransaction(deps.db, (trx) => readWanted(trx, payload));
      if (found === undefined) return;
      const { row, sealed } = found;
      const code = deps.box.open(sealed, secretLabel(found.deviceId, BYPASS_CODE));
      const escrowKey = await hashBypassCode(parseBypassCode(code.toString('ascii')));
      const lock = { escrowKey, lostMessage: payload.lostMessage };
      const { serial_number: serialNumber, dep_account_id: accountId } = row;
      try {
        const results = await deps.accounts.use(
          accountId,
          (api) => api.enableActivationLock({ serialNumber, ...lock }),
          { signal },
        );
        const result = results.get(serialNumber) ?? 'no_answer';
        await inTransaction(deps.db, (trx) => storeResult(trx, payload, result));
        deps.logger.info({ depDeviceId: id, result }, 'activation lock requested from Apple');
      } catch (error) {
        await storeFailure(deps, payload, error);
      }
    },
  };
}

/** If the device was locked before, the former bypass code becomes the newest one again. */
async function storeResult(
  trx: Transaction,
  { id, formerSecretId }: Payload,
  result: string,
): Promise<void> {
  const isFormer = result === ALREADY_LOCKED && formerSecretId !== undefined;
  if (isFormer) await repeatSecret(trx, formerSecretId);
  await storeActivationLock(trx, { id, result, failure: messageOf(result) });
}

/** After a lost answer ALREADY_LOCKED may be about this very lock. */
function messageOf(result: string): string | null {
  if (result === 'SUCCESS') return null;
  const message = `Apple's answer is ${result}`;
  if (result !== ALREADY_LOCKED) return message;
  return `${message}: the bypass code is that of the earlier lock`;
}

/** undefined if the row or the device was deleted, or if a newer bypass code has its own job. */
async function readWanted(
  trx: Transaction,
  { id, secretId }: Payload,
): Promise<{ row: LockableRow; deviceId: number; sealed: Buffer } | undefined> {
  const row = await findLockable(trx, id);
  if (row?.device_id == null) return undefined;
  const deviceId = row.device_id;
  const sealed = await findLatestSecret(trx, { deviceId, id: secretId });
  return sealed && { row, deviceId, sealed };
}

async function storeFailure(
  { db, queue, logger }: Pick<DepDeviceTaskDeps, 'db' | 'queue' | 'logger'>,
  payload: Payload,
  error: unknown,
): Promise<void> {
  const outcome = failureOf(error, payload);
  if (outcome === undefined) throw error;
  const { result, failure, retry } = outcome;
  const { id } = payload;
  await inTransaction(db, async (trx) => {
    await storeActivationLock(trx, { id, result, failure });
    if (retry === undefined) return;
    const { runAt, missed } = retry;
    await queue.add(trx, { name: ACTIVATION_LOCK }, { ...payload, missed }, { runAt });
  });
  logger.warn({ depDeviceId: id, detail: failure, result }, 'a device was not locked');
}

interface LockFailure {
  result: 'requested' | 'refused' | 'no_answer';
  failure: string;
  retry?: { runAt: Date; missed: number };
}

function failureOf(error: unknown, { missed }: Payload): LockFailure | undefined {
  if (error instanceof AppError && error.status < 500) {
    return { result: 'refused', failure: error.message };
  }
  if (!(error instanceof DepError)) return undefined;
  const failure = error.text === '' ? error.message : `${error.message}: ${error.text}`;
  if (error.kind === 'throttled') {
    return { result: 'requested', failure, retry: { runAt: retryTime(error), missed } };
  }
  if (error.kind !== 'unreachable') return { result: 'refused', failure };
  if (missed >= MAX_MISSED) return { result: 'no_answer', failure };
  const runAt = new Date(Date.now() + FIRST_WAIT_MS * 2 ** missed);
  return { result: 'requested', failure, retry: { runAt, missed: missed + 1 } };
}
