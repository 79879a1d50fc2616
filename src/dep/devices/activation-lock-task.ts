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
  /** The code of the lock that the device had when this one was asked for. */
  formerSecretId: z.int().optional(),
  lostMessage: z.string().optional(),
  /** How often Apple could not be reached. */
  missed: z.int().default(0),
});

type Payload = z.infer<typeof PAYLOAD>;

/** From 3 minutes to 6 hours: half a day in all. */
const MOST_MISSED = 8;
const FIRST_WAIT_MS = 3 * 60 * 1000;

/** Has Apple lock a device; harmless when done twice, since the code is the same. */
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
      const { lostMessage } = payload;
      const lock = { escrowKey, ...(lostMessage === undefined ? {} : { lostMessage }) };
      const { serial_number: serialNumber, dep_account_id: accountId } = row;
      try {
        const results = await deps.accounts.use(
          accountId,
          (api) => api.enableActivationLock({ serialNumber, ...lock }),
          { signal },
        );
        const result = results.get(serialNumber) ?? 'no_answer';
        await inTransaction(deps.db, (trx) => storeResult(trx, payload, result));
        deps.logger.info({ depDeviceId: id, result }, 'Apple was told to lock a device');
      } catch (error) {
        await storeFailure(deps, payload, error);
      }
    },
  };
}

/** The code by which the device can be unlocked is the newest one, whatever Apple answers. */
async function storeResult(
  trx: Transaction,
  { id, formerSecretId }: Payload,
  result: string,
): Promise<void> {
  const isFormer = result === ALREADY_LOCKED && formerSecretId !== undefined;
  if (isFormer) await repeatSecret(trx, formerSecretId);
  await storeActivationLock(trx, { id, result, failure: messageOf(result) });
}

/** It may be this very lock, where the first answer was lost. */
function messageOf(result: string): string | null {
  if (result === 'SUCCESS') return null;
  const words = `Apple's answer is ${result}`;
  if (result !== ALREADY_LOCKED) return words;
  return `${words}: the bypass code is that of the lock that came first`;
}

/** Undefined where nothing is to be done any more, or by the job of a newer code. */
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
  const end = failureOf(error, payload);
  if (end === undefined) throw error;
  const { result, failure, again } = end;
  const { id } = payload;
  await inTransaction(db, async (trx) => {
    await storeActivationLock(trx, { id, result, failure });
    if (again === undefined) return;
    const { runAt, missed } = again;
    await queue.add(trx, { name: ACTIVATION_LOCK }, { ...payload, missed }, { runAt });
  });
  logger.warn({ depDeviceId: id, detail: failure, result }, 'a device was not locked');
}

interface LockFailure {
  result: 'requested' | 'refused' | 'no_answer';
  failure: string;
  again?: { runAt: Date; missed: number };
}

function failureOf(error: unknown, { missed }: Payload): LockFailure | undefined {
  if (error instanceof AppError && error.status < 500) {
    return { result: 'refused', failure: error.message };
  }
  if (!(error instanceof DepError)) return undefined;
  const failure = error.text === '' ? error.message : `${error.message}: ${error.text}`;
  if (error.kind === 'throttled') {
    return { result: 'requested', failure, again: { runAt: retryTime(error), missed } };
  }
  if (error.kind !== 'unreachable') return { result: 'refused', failure };
  if (missed >= MOST_MISSED) return { result: 'no_answer', failure };
  const runAt = new Date(Date.now() + FIRST_WAIT_MS * 2 ** missed);
  return { result: 'requested', failure, again: { runAt, missed: missed + 1 } };
}
