import type { Rollout, RolloutResult } from '../../db/assignments/rollouts.js';

/** What happens next with a rollout that is running. */
export type Decision =
  | { kind: 'halt'; reason: string }
  | { kind: 'next' | 'finish' }
  | { kind: 'wait'; reason: string | null };

/** Answers that a share is computed from, at least; of a smaller stage all its devices. */
const SMALLEST_SAMPLE = 5;

/** A reached failure limit halts the rollout; otherwise the time of the stage decides. */
export function decide(rollout: Rollout, result: RolloutResult): Decision {
  const limit = reachedLimit(rollout, result);
  if (limit !== undefined) return { kind: 'halt', reason: haltReason(rollout, result, limit) };
  const { stages, stage } = rollout;
  const reason = waitReason(rollout, result);
  if (reason !== undefined) return { kind: 'wait', reason };
  return { kind: stage < stages.length ? 'next' : 'finish' };
}

function reachedLimit(
  { halt_at: { failures, percent } }: Rollout,
  { failed, attempted, devices }: RolloutResult,
): string | undefined {
  if (failed === 0) return undefined;
  if (failures !== null && failed >= failures) return `${failures} devices`;
  const isSample = attempted >= Math.min(SMALLEST_SAMPLE, Math.max(devices, 1));
  if (percent !== null && isSample && failed * 100 >= percent * attempted) return `${percent} %`;
  return undefined;
}

const MAX_ERROR_LENGTH = 300;

function haltReason({ version, stage }: Rollout, result: RolloutResult, limit: string): string {
  const { failed, attempted, commonest_error: error } = result;
  const numbers =
    `version ${version} failed on ${failed} of ${attempted} devices that answered, ` +
    `in stage ${stage}; the limit is ${limit}`;
  return error === null ? numbers : `${numbers}. Most often: ${error.slice(0, MAX_ERROR_LENGTH)}`;
}

/** Why the stage is not over; null when only its time is not; undefined when it is over. */
function waitReason(
  { stages, stage, version, soaked }: Rollout,
  { added, added_verified, is_behind, is_paused }: RolloutResult,
): string | null | undefined {
  if (soaked < (stages[stage - 1]?.soak_minutes ?? 0)) return null;
  if (is_paused) return 'the profile or the reconciler is paused: resume it';
  if (is_behind) return 'commands for devices of the stage are still being queued';
  if (added > 0 && added_verified === 0) {
    return `none of the ${added} devices that stage ${stage} added has version ${version} yet`;
  }
  return undefined;
}
