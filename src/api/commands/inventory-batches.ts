import { z } from 'zod';
import type { BatchOrder, CommandBatches } from '../../batches/command-batches.js';
import { planFleetInventory } from '../../commands/inventory-plan.js';
import type { JsonObject } from '../../commands/present-command.js';
import type { Transaction } from '../../db/connection/unit-of-work.js';
import { AppError } from '../../errors.js';
import { action } from '../action.js';
import type { ApiRoute } from '../api-route.js';
import { readTargets, TARGET_RELATIONSHIPS } from './batch-targets.js';
import {
  BATCH_MEMBERS,
  batchInput,
  type CommandBatchDeps,
  DRY_RUN,
  previewOf,
} from './command-batches.js';

const TYPE = 'command_batches';

/** Not spelled out: each is what the dry run of a batch shows. */
const PREVIEW = {
  description:
    'With `dry_run=true`: by query what the dry run of a batch shows. Nothing is stored.',
  meta: z.strictObject({
    batches: z.array(z.looseObject({ request_type: z.string() })),
    confirm: z.int().optional(),
  }),
};

/** Asks many devices for their inventory: a batch for each kind of question. */
export function inventoryBatchRoute({ api, services }: CommandBatchDeps): ApiRoute {
  const { commandBatches: batches } = services;
  return action(api, {
    method: 'POST',
    path: '/devices/inventory',
    operationId: 'queueInventories',
    tag: 'devices',
    role: 'operator',
    summary: 'Ask many devices for their whole inventory',
    description:
      'A batch for each query, for the devices that can answer it. Confirmed as a batch is. 422 ' +
      '`no_eligible_device` when none can answer any.',
    body: {
      attributes: z.strictObject(BATCH_MEMBERS),
      type: TYPE,
      needsAttributes: true,
      relationships: TARGET_RELATIONSHIPS,
      isRequired: true,
      example: { tags: [{ type: 'tags', id: 3 }] },
    },
    flags: DRY_RUN,
    confirms: true,
    previews: PREVIEW,
    answer: { status: 202, description: 'The batches.', shows: { listOf: TYPE } },
    audit: { action: 'devices.inventory_of_many', targetType: 'devices' },
    run: async (trx, { body, flags, confirm, context }) => {
      const scope = await readTargets(api, trx, { body, context });
      const orders = planFleetInventory().map(({ requestType, parameters }): BatchOrder => {
        const command = { requestType, parameters: parameters as JsonObject, profileId: null };
        const input = batchInput(body, command);
        return { input, scope, confirm, actor: context.actor.name };
      });
      if (flags.dry_run) return { preview: await previewOfAll(trx, batches, orders) };
      const ids: number[] = [];
      let none: unknown;
      for (const order of orders) {
        const id = await createIfAny(trx, batches, order).catch((error: unknown) => {
          if (!(error instanceof AppError) || error.code !== 'no_eligible_device') throw error;
          none ??= error;
        });
        if (id !== undefined) ids.push(id);
      }
      if (ids.length === 0) throw none;
      return { ids, targetId: null, details: { batches: ids, filter: scope.filter } };
    },
  });
}

async function previewOfAll(trx: Transaction, batches: CommandBatches, orders: BatchOrder[]) {
  const previews: ({ request_type: string } & ReturnType<typeof previewOf>)[] = [];
  for (const order of orders) {
    const preview = previewOf(batches, order.input, await batches.preview(trx, order));
    previews.push({ request_type: order.input.requestType, ...preview });
  }
  const numbers = previews.flatMap(({ confirm }) => confirm ?? []);
  const confirm = numbers.length > 0 ? Math.max(...numbers) : undefined;
  return { batches: previews, confirm };
}

/** Counts the devices first: a batch without any is not stored. */
async function createIfAny(
  trx: Transaction,
  batches: CommandBatches,
  order: BatchOrder,
): Promise<number> {
  batches.requireEligible(order, await batches.preview(trx, order));
  return (await batches.create(trx, order)).id;
}
