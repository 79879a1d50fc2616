import { z } from 'zod';
import type { OneOffProfiles } from '../../assignments/one-off-profiles.js';
import type { CommandBatches } from '../../batches/command-batches.js';
import type { OneOffCommand } from '../../db/assignments/one-off.js';
import { type ErrorDetail, notFound, validationError } from '../../errors.js';
import type { ApiContext } from '../../jsonapi/handler.js';
import { profiles } from '../../resources/profiles/profiles.js';
import { type ActionResult, action } from '../action.js';
import type { ApiRoute } from '../api-route.js';
import { readTargets, TARGET_RELATIONSHIPS } from '../commands/batch-targets.js';
import {
  BATCH_MEMBERS,
  batchInput,
  DRY_RUN,
  orderBatch,
  PREVIEW,
} from '../commands/command-batches.js';
import { bodyId } from '../request-parts.js';

export interface ProfileActionDeps {
  api: ApiContext;
  oneOffProfiles: Pick<OneOffProfiles, 'install' | 'remove'>;
  services: { commandBatches: CommandBatches };
}

const TYPE = 'profiles';
const MAX_DEVICES = 1_000;

const BODY = z.strictObject({
  device_ids: z
    .array(bodyId)
    .min(1)
    .max(MAX_DEVICES)
    .refine((ids) => new Set(ids).size === ids.length, 'must name each device once')
    .optional()
    .describe('The ids of single devices; alone. Other targets make a command batch.'),
  ...BATCH_MEMBERS,
});

const ALONE: ErrorDetail = {
  detail:
    'device_ids stands alone: for a batch, with a dry run, name devices, tags or device_groups in relationships, ' +
    'or a filter',
  source: { pointer: '/data/attributes/device_ids' },
};

const REQUEST_TYPES = { install: 'InstallProfile', remove: 'RemoveProfile' } as const;

const QUEUED = {
  type: 'profile_commands',
  onlyId: 1,
  attributes: z.strictObject({
    queued: z.int().min(0).describe('How many commands were queued.'),
    under_way: z
      .int()
      .min(0)
      .describe('How many devices or users had the same command waiting already.'),
    command_ids: z.array(z.int()).describe('The ids of both.'),
  }),
};

const VERBS = [
  {
    verb: 'install',
    summary: 'Install a profile on single devices, once',
    description:
      'Queues InstallProfile with the version that each device would get by an assignment, rendered for it; ' +
      'nothing is installed again when it is lost. A device that has the same command waiting gets no second ' +
      'one. With `device_ids`: 422 `validation_failed` names every device that can not have the profile now, and ' +
      'nothing is queued. With the targets of a command batch: a batch, confirmed as other batches are. To have ' +
      'devices keep it, create an assignment.',
  },
  {
    verb: 'remove',
    summary: 'Remove a profile from single devices',
    description:
      'Queues RemoveProfile with the identifier of the profile. With `device_ids`: 409 `still_assigned` names the ' +
      'devices that an assignment gives it, and nothing is queued. With the targets of a command batch: a batch ' +
      'that leaves those devices out, confirmed as other batches are.',
  },
] as const;

/** Installs and removes a profile by the ids of devices. */
export function profileActionRoutes({
  api,
  oneOffProfiles,
  services,
}: ProfileActionDeps): ApiRoute[] {
  return VERBS.map(({ verb, summary, description }) =>
    action(api, {
      method: 'POST',
      path: `/${TYPE}/{id}/${verb}`,
      operationId: `${verb}Profile`,
      tag: TYPE,
      role: 'operator',
      summary,
      description,
      body: {
        attributes: BODY,
        relationships: TARGET_RELATIONSHIPS,
        isRequired: true,
        example: { device_ids: [3, 5] },
      },
      flags: DRY_RUN,
      confirms: true,
      previews: PREVIEW,
      answer: {
        status: 202,
        description: 'The commands of single devices, or the batch.',
        shows: QUEUED,
        orShows: 'command_batches',
      },
      audit: { action: `${TYPE}.${verb}`, targetType: TYPE },
      run: async (trx, { id, body, flags, confirm, context }) => {
        const row = await api.store.find(trx, { shape: profiles, id, columns: ['identifier'] });
        if (row === undefined) throw notFound(`${TYPE} ${id}`);
        const { device_ids: deviceIds, ...order } = body;
        if (deviceIds !== undefined) {
          if (Object.keys(order).length > 0 || flags.dry_run) throw validationError([ALONE]);
          return single(await oneOffProfiles[verb](trx, { profileId: id, deviceIds }), deviceIds);
        }
        const command = { requestType: REQUEST_TYPES[verb], parameters: {}, profileId: id };
        const input = batchInput(order, command);
        const scope = await readTargets(api, trx, { body: order, context });
        const batch = { input, scope, confirm, actor: context.actor.name };
        const { commandBatches: batches } = services;
        const result = await orderBatch(api, trx, {
          batches,
          order: batch,
          isDryRun: flags.dry_run,
        });
        return { ...result, targetId: id, isOther: true };
      },
    }),
  );
}

function single(commands: OneOffCommand[], deviceIds: number[]): ActionResult {
  const underWay = commands.filter(({ was_under_way }) => was_under_way).length;
  const attributes = {
    queued: commands.length - underWay,
    under_way: underWay,
    command_ids: commands.map(({ id }) => id),
  };
  return { attributes, details: { device_ids: deviceIds } };
}
