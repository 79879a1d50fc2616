import { z } from 'zod';
import type { BatchScope } from '../../batches/command-batches.js';
import type { Transaction } from '../../db/connection/unit-of-work.js';
import { type ErrorDetail, notFound, validationError } from '../../errors.js';
import type { RequestContext } from '../../jsonapi/context.js';
import type { ApiContext } from '../../jsonapi/handler.js';
import { parseStoredFilter } from '../../jsonapi/query/filter.js';
import { deviceGroups } from '../../resources/devices/device-groups.js';
import { devices } from '../../resources/devices/devices.js';
import { tags } from '../../resources/devices/tags.js';
import { bodyId } from '../request-parts.js';

const MAX_DEVICES = 10_000;
const MAX_NAMED = 1_000;
const MAX_RULES = 50;

function linkage<Type extends string>(type: Type, most: number) {
  return z
    .array(z.strictObject({ type: z.literal(type), id: bodyId }))
    .max(most)
    .optional();
}

/** Attributes and relationships that name the devices of a request. */
export const TARGET_MEMBERS = {
  filter: z
    .array(z.record(z.string(), z.unknown()), {
      error:
        'must be an array of rules, such as [{"name": "platform", "op": "eq", "val": "iOS"}]; several must all hold',
    })
    .min(1, { error: 'has no rule: leave it out, or name one' })
    .max(MAX_RULES, { error: `has more than ${MAX_RULES} rules` })
    .optional()
    .describe(
      'As in `GET /devices?filter=…`. With named devices, tags or groups it narrows them; alone it is for all ' +
        'devices that match.',
    ),
  devices: linkage('devices', MAX_DEVICES).describe(`At most ${MAX_DEVICES}.`),
  tags: linkage('tags', MAX_NAMED).describe('Every device that has one of them.'),
  device_groups: linkage('device_groups', MAX_NAMED).describe('Every device of one of them.'),
};

/** The relationships among them. */
export const TARGET_RELATIONSHIPS = ['devices', 'tags', 'device_groups'] as const;

const TARGETS = z.object(TARGET_MEMBERS);
export type TargetMembers = z.infer<typeof TARGETS>;

/**
 * The devices that the request names. AppError 422 if it names none, or for a wrong filter; 404 for what does not
 * exist.
 */
export async function readTargets(
  api: ApiContext,
  trx: Transaction,
  { body, context }: { body: TargetMembers; context: RequestContext },
): Promise<BatchScope> {
  const filter = body.filter ?? null;
  const { nodes, faults } = filter === null ? NO_FILTER : readFilter(api, filter, context);
  const deviceIds = idsOf(body.devices);
  const tagIds = idsOf(body.tags);
  const groupIds = idsOf(body.device_groups);
  const isNamed = deviceIds.length + tagIds.length + groupIds.length > 0;
  if (!isNamed && filter === null) throw validationError([NOBODY]);
  if (faults.length > 0) throw validationError(faults);
  await requireKnown(api, trx, [
    { shape: devices, ids: deviceIds },
    { shape: tags, ids: tagIds },
    { shape: deviceGroups, ids: groupIds },
  ]);
  return { selection: { deviceIds, tagIds, groupIds, nodes }, filter };
}

const NO_FILTER = { nodes: [], faults: [] };

const NOBODY: ErrorDetail = {
  detail:
    'name devices, tags or device_groups in relationships, or a filter. For all devices: ' +
    '"filter": [{"name": "is_enrolled", "op": "eq", "val": true}]',
  source: { pointer: '/data/relationships' },
};

function readFilter({ registry }: ApiContext, rules: unknown[], { actor }: RequestContext) {
  const { nodes, faults } = parseStoredFilter({ name: 'filter', rules }, devices, {
    registry,
    actor,
  });
  const source = { pointer: '/data/attributes/filter' };
  return { nodes, faults: faults.map((detail): ErrorDetail => ({ detail, source })) };
}

function idsOf(linked: readonly { id: number }[] = []): number[] {
  return [...new Set(linked.map(({ id }) => id))];
}

async function requireKnown(
  { store }: ApiContext,
  trx: Transaction,
  named: { shape: Parameters<ApiContext['store']['missing']>[1]['shape']; ids: number[] }[],
): Promise<void> {
  for (const { shape, ids } of named) {
    if (ids.length === 0) continue;
    const missing = await store.missing(trx, { shape, ids });
    if (missing.length > 0) throw notFound(`${shape.type} ${listed(missing)}`);
  }
}

function listed(ids: readonly number[]): string {
  const more = ids.length > 20 ? ` and ${ids.length - 20} more` : '';
  return ids.slice(0, 20).join(', ') + more;
}
