import { z } from 'zod';
import type { OneOffProfiles } from '../../assignments/one-off-profiles.js';
import { notFound } from '../../errors.js';
import type { ApiContext } from '../../jsonapi/handler.js';
import { profiles } from '../../resources/profiles/profiles.js';
import { action } from '../action.js';
import type { ApiRoute } from '../api-route.js';
import { bodyId } from '../request-parts.js';

export interface ProfileActionDeps {
  api: ApiContext;
  oneOffProfiles: Pick<OneOffProfiles, 'install' | 'remove'>;
}

const TYPE = 'profiles';
const MOST_DEVICES = 1_000;

const BODY = z.strictObject({
  device_ids: z
    .array(bodyId)
    .min(1)
    .max(MOST_DEVICES)
    .refine((ids) => new Set(ids).size === ids.length, 'must name each device once')
    .describe('The ids of the devices.'),
});

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
      'one. 422 `validation_failed` names every device that can not ' +
      'have the profile now, and nothing is queued. To have devices keep it, create an assignment.',
  },
  {
    verb: 'remove',
    summary: 'Remove a profile from single devices',
    description:
      'Queues RemoveProfile with the identifier of the profile. 409 `still_assigned` names the devices that ' +
      'an assignment gives it, and nothing is queued.',
  },
] as const;

/** Installs and removes a profile by the ids of devices. */
export function profileActionRoutes({ api, oneOffProfiles }: ProfileActionDeps): ApiRoute[] {
  return VERBS.map(({ verb, summary, description }) =>
    action(api, {
      method: 'POST',
      path: `/${TYPE}/{id}/${verb}`,
      operationId: `${verb}Profile`,
      tag: TYPE,
      role: 'operator',
      summary,
      description,
      body: { attributes: BODY, isRequired: true, example: { device_ids: [3, 5] } },
      answer: { status: 202, description: 'The commands.', shows: QUEUED },
      audit: { action: `${TYPE}.${verb}`, targetType: TYPE },
      run: async (trx, { id, body: { device_ids: deviceIds } }) => {
        const row = await api.store.find(trx, { shape: profiles, id, columns: ['identifier'] });
        if (row === undefined) throw notFound(`${TYPE} ${id}`);
        const commands = await oneOffProfiles[verb](trx, { profileId: id, deviceIds });
        const underWay = commands.filter(({ was_under_way }) => was_under_way).length;
        const attributes = {
          queued: commands.length - underWay,
          under_way: underWay,
          command_ids: commands.map(({ id: command }) => command),
        };
        return { attributes, details: { device_ids: deviceIds } };
      },
    }),
  );
}
