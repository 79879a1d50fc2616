import { SecretBox } from '../../crypto/secrets/secret-box.js';
import type { Database } from '../../db/connection/database.js';
import { inTransaction, type Transaction } from '../../db/connection/unit-of-work.js';
import { readMasterKeyCheck } from '../../db/pki/certificate-repository.js';
import {
  deleteRotation,
  finishRotation,
  readRotation,
  type StoredRotation,
  writeMasterKeyChange,
  writeRotation,
} from '../../db/pki/reseal-repository.js';
import { liveProcesses } from '../../db/processes/process-repository.js';
import { AppError } from '../../errors.js';
import {
  isMasterKey,
  masterKeyId,
  opensMasterKeyCheck,
  sealMasterKeyCheck,
  wrongMasterKey,
} from './master-key.js';
import { countSealedValues, findUnreadable, type Keys, resealAll } from './reseal.js';
import type { RotationKeys } from './rotation-keys.js';

export interface Rotated {
  former_key: string;
  new_key: string;
}

export interface RotationDeps {
  db: Database;
  keys: RotationKeys;
  /** Leave values that open under no key as they are, instead of refusing. */
  skipUnreadable?: boolean;
  write(line: string): void;
  /** Called in the transaction that makes the new key the database's. */
  onFinish(trx: Transaction, rotated: Rotated): Promise<void>;
}

/** Values between two lines of progress. */
const PROGRESS_EVERY = 10_000;
const SHOWN_AT_MOST = 10;

/**
 * Seals every secret of the database under a new master key. It may be interrupted at any instant
 * and run again: until it is finished no server starts, afterwards only with the new key. AppError
 * conflict while a server runs, or when stored secrets do not open.
 */
export async function rotateMasterKey(deps: RotationDeps): Promise<void> {
  const { db, keys, write, onFinish } = deps;
  await refuseLive(db);
  const former = new SecretBox(keys.former());
  const rotation = await readRotation(db.knex);
  if (rotation === undefined && (await isCommitted(deps, former))) {
    write('every secret is under the new key already');
    write(keys.adopt(masterKeyId(former)));
    return;
  }
  const boxes = rotation ? await resume(deps, former, rotation) : await prepare(deps, former);
  if (rotation === undefined) await begin(deps, boxes);
  await reseal(deps, boxes);
  const ids = { former_key: masterKeyId(former), new_key: masterKeyId(boxes.next) };
  await inTransaction(db, async (trx) => {
    await finishRotation(trx, sealMasterKeyCheck(boxes.next));
    const [former, present] = [ids.former_key, ids.new_key];
    await writeMasterKeyChange(trx, { former, present, changedAt: new Date() });
    await onFinish(trx, ids);
  });
  write(`every secret is under the key ${ids.new_key} now, instead of ${ids.former_key}`);
  write(keys.adopt(ids.former_key));
}

/** Secrets that a running server seals under the former key during the rotation would be lost. */
async function refuseLive({ knex }: Database): Promise<void> {
  const live = await liveProcesses(knex);
  if (live.length === 0) return;
  const who = live.map(({ hostname, pid }) => `${hostname}, process ${pid}`).join('; ');
  throw conflict(`the server runs (${who}); stop every process of it first`);
}

function conflict(message: string): AppError {
  return new AppError('conflict', 409, message);
}

/** Whether an interrupted run did everything except to rename the key files. */
async function isCommitted({ db, keys }: RotationDeps, former: SecretBox): Promise<boolean> {
  const next = keys.next();
  if (next === undefined) return false;
  const box = new SecretBox(next);
  if (masterKeyId(box) === masterKeyId(former)) throw conflict('the new key is the one in use');
  return (await isMasterKey(db, box)) === true;
}

/** The keys of an interrupted run, which has resealed some of the values. */
async function resume(
  { db, keys, write }: RotationDeps,
  former: SecretBox,
  rotation: StoredRotation,
): Promise<Keys> {
  const next = keys.next();
  const box = next && new SecretBox(next);
  if (box === undefined || !opensMasterKeyCheck(box, rotation.check)) {
    throw conflict('a rotation was begun with another new key; use that one');
  }
  // Every private key may be under the new one by now, so only the check can show it.
  if (!(await isFormerKey(db, former))) throw await wrongMasterKey(db, former);
  write(`the rotation that was begun at ${rotation.startedAt.toISOString()} goes on`);
  return { former, next: box };
}

async function isFormerKey({ knex }: Database, former: SecretBox): Promise<boolean> {
  const check = await readMasterKeyCheck(knex);
  return check === undefined || opensMasterKeyCheck(former, check);
}

async function prepare(deps: RotationDeps, former: SecretBox): Promise<Keys> {
  const { db, keys, write } = deps;
  const fits = await isMasterKey(db, former);
  if (fits === undefined) throw conflict('the database holds no secrets yet');
  if (!fits) throw await wrongMasterKey(db, former);
  const next = new SecretBox(keys.next() ?? keys.make());
  const count = await countSealedValues(db);
  write(`secrets to be sealed anew: ${count}`);
  refuseUnreadable(await findUnreadable(db, former), deps);
  return { former, next };
}

function refuseUnreadable(unreadable: string[], { skipUnreadable, write }: RotationDeps): void {
  if (unreadable.length === 0) return;
  for (const what of unreadable.slice(0, SHOWN_AT_MOST)) write(`does not open: ${what}`);
  if (skipUnreadable === true) return;
  throw conflict(
    `stored secrets that open under no key that is here, so are damaged: ${unreadable.length}; ` +
      '--skip-unreadable leaves them as they are',
  );
}

/**
 * A starting server registers, then looks for a rotation. This function does both in reverse order, so that one
 * of them always detects the other.
 */
async function begin({ db }: RotationDeps, { next }: Keys): Promise<void> {
  await writeRotation(db.knex, { check: sealMasterKeyCheck(next), startedAt: new Date() });
  try {
    await refuseLive(db);
  } catch (error) {
    await deleteRotation(db.knex);
    throw error;
  }
}

async function reseal(deps: RotationDeps, boxes: Keys): Promise<void> {
  const { db, write } = deps;
  const reported = new Map<string, number>();
  const unreadable = await resealAll(db, boxes, {
    onProgress: (place, done) => {
      if (done - (reported.get(place) ?? 0) < PROGRESS_EVERY) return;
      reported.set(place, done);
      write(`${place}: ${done}`);
    },
  });
  refuseUnreadable(unreadable, deps);
}
