import { z } from 'zod';
import type { Rollouts } from '../../assignments/rollouts/rollouts.js';
import { validationError } from '../../errors.js';
import { integer, jsonOf, oneOf, text, timestamp } from '../../jsonapi/definition/attributes.js';
import {
  type CreateOperation,
  type DeleteOperation,
  defineResource,
  type WriteResult,
} from '../../jsonapi/definition/definition.js';
import { operatorWrites, type Service } from '../common.js';

export interface RolloutServices {
  rollouts: Service<Pick<Rollouts, 'begin' | 'remove'>>;
}

const MAX_STAGES = 20;
const MAX_SOAK_MINUTES = 30 * 24 * 60;

const STAGE = z.strictObject({
  percent: z.number().min(0).max(100).refine(hasTwoDecimals, 'must have at most two decimals'),
  soak_minutes: z.int().min(0).max(MAX_SOAK_MINUTES),
});
type Stage = z.infer<typeof STAGE>;

const STAGES = z
  .array(STAGE)
  .min(1)
  .max(MAX_STAGES)
  .superRefine((stages, issues) => {
    for (const [index, { percent }] of stages.entries()) {
      const message = faultOfPercent(percent, { former: stages[index - 1], index, stages });
      if (message !== undefined) {
        issues.addIssue({ code: 'custom', message, path: [index, 'percent'] });
      }
    }
  });

const DEFAULT_LIMITS = { failures: 25, percent: 10 };
const HALT_AT = z
  .strictObject({
    failures: z.int().min(1).max(1_000_000).nullable().default(DEFAULT_LIMITS.failures),
    percent: z.number().min(1).max(100).nullable().default(DEFAULT_LIMITS.percent),
  })
  .refine(
    ({ failures, percent }) => failures !== null || percent !== null,
    'must have at least one limit: failures, percent or both',
  );

function hasTwoDecimals(percent: number): boolean {
  return Math.abs(percent * 100 - Math.round(percent * 100)) < 1e-6;
}

function faultOfPercent(
  percent: number,
  { former, index, stages }: { former: Stage | undefined; index: number; stages: Stage[] },
): string | undefined {
  if (former !== undefined && percent <= former.percent) {
    return `must be more than the ${former.percent} of the stage before it`;
  }
  if (index === stages.length - 1 && percent < 100) {
    return 'must be 100 in the last stage, so that every device gets the version';
  }
  return undefined;
}

const SERVER = { write: 'never', volatile: true } as const;

/** How a version of an item comes to its devices stage by stage. */
export const rollouts = defineResource<RolloutServices>({
  type: 'rollouts',
  path: '/rollouts',
  table: 'rollouts',
  access: operatorWrites,
  attributes: {
    version: integer({ write: 'create', required: true, min: 1 }),
    former_version: integer({ write: 'never' }),
    stages: jsonOf(STAGES, { write: 'create', required: true }),
    halt_at: jsonOf(HALT_AT, { nullable: false }),
    state: oneOf(['running', 'halted', 'rolled_back', 'finished'], SERVER),
    reason: text(SERVER),
    stage: integer(SERVER),
    stage_started_at: timestamp(SERVER),
    devices: integer(SERVER),
    verified: integer(SERVER),
    failed: integer(SERVER),
    created_at: timestamp({ write: 'never' }),
    ended_at: timestamp(SERVER),
  },
  defaults: { halt_at: DEFAULT_LIMITS },
  relationships: {
    profile: { kind: 'toOne', type: 'profiles', column: 'profile_id', write: 'create' },
    first_tag: { kind: 'toOne', type: 'tags', column: 'first_tag_id', write: 'create' },
  },
  unions: { item: ['profile'] },
  operations: { create: createRollout, delete: deleteRollout },
});

async function createRollout(operation: CreateOperation<RolloutServices>): Promise<WriteResult> {
  const { trx, services, attributes, toOne } = operation;
  const { profile, first_tag } = toOne;
  const stages = attributes.stages as Stage[];
  const faults = [];
  if (typeof profile !== 'number') {
    const source = { pointer: '/data/relationships/item' };
    faults.push({ detail: 'name the item: {"type": "profiles", "id": …}', source });
  }
  if (stages[0]?.percent === 0 && typeof first_tag !== 'number') {
    const source = { pointer: '/data/attributes/stages/0/percent' };
    const detail =
      'stages.0.percent must be more than 0, unless first_tag names the devices of the stage';
    faults.push({ detail, source });
  }
  if (faults.length > 0) throw validationError(faults);
  const id = await services.rollouts.begin(trx, {
    profileId: Number(profile),
    version: Number(attributes.version),
    first_tag_id: first_tag ?? null,
    stages,
    halt_at: attributes.halt_at as typeof DEFAULT_LIMITS,
  });
  return { id };
}

async function deleteRollout(operation: DeleteOperation<RolloutServices>): Promise<void> {
  await operation.services.rollouts.remove(operation.trx, operation.id);
}
