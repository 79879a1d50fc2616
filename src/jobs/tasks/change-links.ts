import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { Database } from '../../db/connection/database.js';
import { inTransaction, type Transaction } from '../../db/connection/unit-of-work.js';
import { linkRows, missingRows, unlinkRows } from '../../db/store/resource-store-links.js';
import type { JobQueue } from '../job-queue.js';
import type { Task } from '../task.js';

/** A relationship as its path names it. */
export interface NamedRelationship {
  /** The table of the owner. */
  owner: Parameters<typeof missingRows>[1]['shape'];
  /** That of the related rows. */
  related: Parameters<typeof linkRows>[1]['shape'];
  relation: Parameters<typeof linkRows>[1]['relation'];
}

export interface ChangeLinksDeps {
  db: Database;
  /** Undefined for one that this version does not know. */
  relationship(type: string, name: string): NamedRelationship | undefined;
}

const payload = z.strictObject({
  type: z.string(),
  id: z.number(),
  name: z.string(),
  verb: z.enum(['add', 'remove']),
  relatedIds: z.array(z.number()),
});

type LinkChange = z.infer<typeof payload>;

const NAME = 'links.change';
/** Links that one job changes. */
const JOB_LINKS = 5_000;
/** Links that one transaction changes: about half a second, with the changes that a new link causes. */
const SLICE = 500;

/** Adds or removes links that one request has not changed itself. Rows that are gone since are left out. */
export function createChangeLinksTask(deps: ChangeLinksDeps): Task<LinkChange> {
  return {
    name: NAME,
    parse: (given) => payload.parse(given),
    async run(change, { signal }) {
      const named = deps.relationship(change.type, change.name);
      if (named === undefined)
        throw new Error(`unknown relationship ${change.type}.${change.name}`);
      for (let at = 0; at < change.relatedIds.length; at += SLICE) {
        signal.throwIfAborted();
        const relatedIds = change.relatedIds.slice(at, at + SLICE);
        const started = performance.now();
        await inTransaction(deps.db, (trx) => {
          return changeSlice(trx, { ...change, relatedIds }, named);
        });
        // Rests as long as it works, which leaves room for devices.
        await sleep(performance.now() - started, undefined, { signal });
      }
    },
  };
}

async function changeSlice(
  trx: Transaction,
  { id, verb, relatedIds }: LinkChange,
  { owner, related: shape, relation }: NamedRelationship,
): Promise<void> {
  const isOwnerGone = (await missingRows(trx, { shape: owner, ids: [id] })).length > 0;
  if (isOwnerGone) return;
  const gone = new Set(await missingRows(trx, { shape, ids: relatedIds }));
  const present = relatedIds.filter((one) => !gone.has(one));
  const change = verb === 'add' ? linkRows : unlinkRows;
  await change(trx, { relation, shape, id, relatedIds: present });
}

/** Adds the jobs of one change. */
export async function changeLinksLater(
  jobs: Pick<JobQueue, 'addMany'>,
  trx: Transaction,
  { relatedIds, ...change }: LinkChange,
): Promise<void> {
  const payloads: LinkChange[] = [];
  for (let at = 0; at < relatedIds.length; at += JOB_LINKS) {
    payloads.push({ ...change, relatedIds: relatedIds.slice(at, at + JOB_LINKS) });
  }
  await jobs.addMany(trx, { name: NAME }, payloads);
}
