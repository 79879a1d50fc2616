import { z } from 'zod';
import type { GroupPreviews } from '../../groups/group-preview.js';
import type { ApiContext } from '../../jsonapi/handler.js';
import { action } from '../action.js';
import type { ApiRoute } from '../api-route.js';

export interface GroupPreviewDeps {
  api: ApiContext;
  groupPreviews: GroupPreviews;
}

const BODY = z.strictObject({
  rule: z
    .array(z.record(z.string(), z.unknown()))
    .min(1)
    .describe('As the attribute `rule` of a smart group.'),
});

const META = z.strictObject({
  count: z.int().min(0).describe('Devices that would belong to the group.'),
  unknown: z
    .int()
    .min(0)
    .describe('Devices of which it is unknown, since they never reported a fact of the rule.'),
  examples: z
    .array(z.strictObject({ id: z.int(), name: z.string().nullable() }))
    .describe('Up to 10 of the devices that would belong to it.'),
});

/** What a rule would choose, before it is saved. */
export function groupPreviewRoutes({ api, groupPreviews }: GroupPreviewDeps): ApiRoute[] {
  const preview = action(api, {
    method: 'POST',
    path: '/device_groups/preview',
    operationId: 'previewDeviceGroup',
    tag: 'device_groups',
    role: 'viewer',
    summary: 'Preview the rule of a smart group',
    description:
      'Counts the devices that the rule would choose now, and those of which it is unknown. Nothing ' +
      'is saved. 422 names every fault of the rule, 400 `query_too_expensive` a rule that takes too ' +
      'long.',
    body: {
      attributes: BODY,
      isRequired: true,
      needsAttributes: true,
      example: { rule: [{ name: 'os_version', op: 'lt', val: '18' }] },
    },
    answer: { status: 200, description: 'The devices.', shows: { meta: META } },
    errors: [400, 413, 415, 422],
    audit: { action: null, targetType: 'device_groups' },
    storesAnswer: false,
    prepare: ({ body, context: { actor } }) =>
      groupPreviews.preview(body.rule, { registry: api.registry, actor }),
    run: async (_trx, { prepared: { count, unknown, examples } }) => ({
      meta: { count, unknown, examples },
    }),
  });
  return [preview];
}
