import type { Transaction } from '../db/connection/unit-of-work.js';
import { type MembershipChanges, noteChanges, writeMembership } from '../db/groups/membership.js';
import { type DeviceResults, evaluateRules } from '../db/groups/rule-evaluation.js';
import type { Logger } from '../logger.js';
import type { LoadedRule } from './loaded-rules.js';

/** Results of one statement. */
const MAX_RESULTS = 20_000;

export interface Evaluation {
  rules: readonly LoadedRule[];
  deviceIds: readonly number[];
  /** Changes by facts count towards flapping, those by a new rule do not. */
  countsFlaps: boolean;
  /** Each rule alone, in a savepoint: one that fails is skipped and logged. */
  isIsolated?: boolean | undefined;
}

/** Makes the members of the groups what their rules decide for the devices. */
export async function evaluateGroups(
  trx: Transaction,
  evaluation: Evaluation,
  logger: Logger,
): Promise<void> {
  const { rules, deviceIds, isIsolated = false } = evaluation;
  const width = isIsolated ? 1 : rules.length;
  for (const some of slices(rules, width)) {
    for (const ids of slices(deviceIds, Math.ceil(MAX_RESULTS / some.length))) {
      const part = { ...evaluation, rules: some, deviceIds: ids };
      if (isIsolated) await evaluateAlone(trx, part, logger);
      else await evaluatePart(trx, part, logger);
    }
  }
}

async function evaluateAlone(trx: Transaction, part: Evaluation, logger: Logger): Promise<void> {
  try {
    await trx.transaction((savepoint) => evaluatePart(savepoint, part, logger));
  } catch (error) {
    const [{ groupId, name } = { groupId: 0, name: '' }] = part.rules;
    const about = { err: error, groupId, devices: part.deviceIds.length };
    logger.error(about, `smart group ${name}: the rule could not be evaluated, its members stay`);
  }
}

async function evaluatePart(
  trx: Transaction,
  { rules, deviceIds, countsFlaps }: Evaluation,
  logger: Logger,
): Promise<void> {
  const results = await evaluateRules(trx, rules, deviceIds);
  const changes = changesOf(rules, results);
  await writeMembership(trx, changes);
  if (!countsFlaps) return;
  const flapping = await noteChanges(trx, [...changes.added, ...changes.removed]);
  for (const { deviceId, groupId, isNew } of flapping) {
    if (!isNew) continue;
    const name = rules.find((rule) => rule.groupId === groupId)?.name;
    const message = `device ${deviceId} flaps in smart group ${name}: its membership changed 3 times in an hour`;
    logger.warn({ deviceId, groupId }, message);
  }
}

/** What differs from what is stored. An unknown result leaves the membership as it is. */
export function changesOf(
  rules: readonly Pick<LoadedRule, 'groupId'>[],
  results: readonly DeviceResults[],
): MembershipChanges {
  const changes: MembershipChanges = {
    added: [],
    removed: [],
    nowUnknown: [],
    nowKnown: [],
    timers: [],
  };
  for (const { deviceId, values, dues, members, unknowns, timers } of results) {
    for (const [index, { groupId }] of rules.entries()) {
      const pair = { groupId, deviceId };
      const value = values[index] ?? null;
      if (value === true && !members.has(groupId)) changes.added.push(pair);
      if (value === false && members.has(groupId)) changes.removed.push(pair);
      if (value === null && !unknowns.has(groupId)) changes.nowUnknown.push(pair);
      if (value !== null && unknowns.has(groupId)) changes.nowKnown.push(pair);
      const dueAt = dues[index] ?? undefined;
      const timer = timers.get(groupId);
      // An earlier timer only looks once more.
      if (dueAt !== undefined && (timer === undefined || dueAt < timer)) {
        changes.timers.push({ ...pair, dueAt });
      }
    }
  }
  return changes;
}

function slices<T>(all: readonly T[], size: number): T[][] {
  const found: T[][] = [];
  for (let start = 0; start < all.length; start += size) found.push(all.slice(start, start + size));
  return found;
}
