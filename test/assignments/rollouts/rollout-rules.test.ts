import { decide } from '../../../src/assignments/rollouts/rollout-rules.js';
import type { Rollout, RolloutResult } from '../../../src/db/assignments/rollouts.js';

const ROLLOUT: Rollout = {
  ...{ id: 1, profile_id: 2, version: 4, former_version: 3, first_tag_id: null, state: 'running' },
  stages: [
    { percent: 5, soak_minutes: 60 },
    { percent: 100, soak_minutes: 0 },
  ],
  halt_at: { failures: 25, percent: 10 },
  ...{ stage: 1, threshold: 500, counted_from: new Date(0), soaked: 60 },
};
const RESULT: RolloutResult = {
  ...{ devices: 100, verified: 90, failed: 0, attempted: 90, added: 100, added_verified: 90 },
  ...{ commonest_error: null, is_behind: false, is_paused: false },
};

const kindOf = (rollout: Partial<Rollout>, result: Partial<RolloutResult>) =>
  decide({ ...ROLLOUT, ...rollout }, { ...RESULT, ...result }).kind;

describe('the next step of a rollout', () => {
  it.each<[string, Partial<Rollout>, Partial<RolloutResult>]>([
    ['halt', {}, { failed: 9, attempted: 90 }],
    ['next', {}, { failed: 8, attempted: 90 }],
    ['halt', {}, { failed: 25, attempted: 10_000 }],
    ['next', {}, { failed: 24, attempted: 10_000 }],
    ['next', { halt_at: { failures: null, percent: 10 } }, { failed: 99, attempted: 1_000 }],
    ['next', { halt_at: { failures: 100, percent: null } }, { failed: 99, attempted: 99 }],
    // Four answers of a large stage are no sample; those of a stage of four are.
    ['next', {}, { failed: 4, attempted: 4 }],
    ['halt', {}, { failed: 5, attempted: 5 }],
    ['halt', {}, { failed: 1, attempted: 4, devices: 4 }],
    ['halt', {}, { failed: 1, attempted: 1, devices: 1 }],
    ['wait', {}, { failed: 1, attempted: 3, devices: 4, added_verified: 0 }],
    // A limit comes before everything else.
    ['halt', { soaked: 0 }, { failed: 25, attempted: 30, is_paused: true, is_behind: true }],
    ['wait', { soaked: 59.99 }, {}],
    ['wait', {}, { is_paused: true }],
    ['wait', {}, { is_behind: true }],
    ['wait', {}, { added_verified: 0 }],
    ['next', {}, { added: 0, added_verified: 0 }],
    ['finish', { stage: 2, soaked: 0 }, {}],
    ['wait', { stage: 2, soaked: 0 }, { added_verified: 0 }],
  ])('is %s for %j with %j', (kind, rollout, result) => {
    expect(kindOf(rollout, result)).toBe(kind);
  });

  it('has the numbers in the reason, and a long error truncated', () => {
    const result = { ...RESULT, failed: 30, attempted: 60, commonest_error: 'x'.repeat(400) };
    expect(decide(ROLLOUT, result)).toEqual({
      kind: 'halt',
      reason:
        'version 4 failed on 30 of 60 devices that answered, in stage 1; the limit is 25 devices. ' +
        `Most often: ${'x'.repeat(300)}`,
    });
  });
});
