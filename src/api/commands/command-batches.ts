import { z } from 'zod';
import type { BatchInput, BatchOrder, CommandBatches } from '../../batches/command-batches.js';
import type { CommandAdministration } from '../../commands/command-administration.js';
import type { JsonObject } from '../../commands/present-command.js';
import type { Targets } from '../../db/batches/batch-repository.js';
import type { Transaction } from '../../db/connection/unit-of-work.js';
import { isStorableText } from '../../jsonapi/definition/values.js';
import type { ApiContext } from '../../jsonapi/handler.js';
import { requireRights } from '../../resources/commands/command-operations.js';
import { type ActionResult, action } from '../action.js';
import type { ApiRoute } from '../api-route.js';
import { readTargets, TARGET_MEMBERS, TARGET_RELATIONSHIPS } from './batch-targets.js';

export interface CommandBatchDeps {
  api: ApiContext;
  services: { commandBatches: CommandBatches; commands: CommandAdministration };
}

const TYPE = 'command_batches';
/** A week, in seconds. */
const MAX_SPREAD_SECONDS = 7 * 24 * 60 * 60;
const INT4 = 2 ** 31;

const time = z.iso
  .datetime({ offset: true, error: 'must be a time in ISO 8601, such as 2026-12-01T08:00:00Z' })
  .transform((text) => new Date(text))
  .nullable()
  .optional();

const ORDER = {
  name: z
    .string()
    .max(255)
    .refine(isStorableText, { error: 'holds an invalid character' })
    .nullable()
    .optional()
    .describe('For people.'),
  priority: z
    .int()
    .min(-INT4)
    .max(INT4 - 1)
    .optional(),
  ttl: z.int().min(1).max(1000).optional().describe('As of a command.'),
  after: time.describe('No command is sent before.'),
  expires_at: time.describe('No command is sent after.'),
  spread: z
    .int()
    .min(0)
    .max(MAX_SPREAD_SECONDS)
    .optional()
    .describe('Seconds over which commands and pushes are spread evenly; 0 by default.'),
};

/** What a batch has beside its command. */
export const BATCH_MEMBERS = { ...ORDER, ...TARGET_MEMBERS };
type Order = z.infer<z.ZodObject<typeof ORDER>>;

const BODY = z.strictObject({
  ...BATCH_MEMBERS,
  request_type: z.string().min(1).max(100).describe("One of Apple's request types."),
  parameters: z
    .record(z.string(), z.unknown())
    .optional()
    .describe(
      'As of a command. Text may have variables ($SERIAL, $DEVICE_NAME, $ATTRIBUTE_name …), which each device ' +
        'gets its own values of; $$ is a dollar. Keys that a device does not know are left out for it.',
    ),
});

const counted = z.strictObject({
  count: z.int().describe('How many devices.'),
  examples: z.array(z.int()).describe('The ids of the first ten.'),
});

const TARGETS = z.strictObject({
  matched: z.int().describe('Devices that are named, and match the filter.'),
  eligible: z.int().describe('Those that get the command.'),
  reduced: z.int().describe('Those of them that get it without some keys.'),
  left_out: z
    .array(counted.extend({ name: z.string().describe('A key, query or setting.') }))
    .describe('What is left out for them.'),
  refused: z
    .array(counted.extend({ code: z.string() }))
    .describe('Devices that do not get it, by reason.'),
});

export const DRY_RUN = {
  dry_run: { description: 'Show what would become of the devices, and store nothing.' },
};

export const PREVIEW = {
  description: 'With `dry_run=true`: what would become of the devices. Nothing is stored.',
  meta: z.strictObject({
    targets: TARGETS,
    confirm: z.int().optional().describe('The number to confirm, if the batch needs that.'),
  }),
};

/** One request for many devices. */
export function commandBatchRoutes({ api, services }: CommandBatchDeps): ApiRoute[] {
  const { commandBatches: batches } = services;
  return [
    action(api, {
      method: 'POST',
      path: `/${TYPE}`,
      isBesideList: true,
      operationId: 'createCommandBatch',
      tag: TYPE,
      role: 'operator',
      summary: 'Queue a command for many devices',
      description:
        'Answers before the commands are queued: follow `state`, `counts` and `failures`. Needs the role of the ' +
        'request type. 422 `no_eligible_device` when no device can get it. 409 `confirmation_required` for a ' +
        'destructive command for more than one device, and for more devices than CONFIRM_ABOVE: repeat it with ' +
        'the number of devices.',
      body: {
        attributes: BODY,
        type: TYPE,
        needsAttributes: true,
        relationships: TARGET_RELATIONSHIPS,
        isRequired: true,
        example: {
          request_type: 'DeviceInformation',
          parameters: { Queries: ['OSVersion'] },
          tags: [{ type: 'tags', id: 3 }],
        },
      },
      flags: DRY_RUN,
      confirms: true,
      previews: PREVIEW,
      answer: { status: 202, description: 'The batch.', shows: TYPE },
      audit: { action: `${TYPE}.create`, targetType: TYPE },
      run: async (trx, { body, flags, confirm, context }) => {
        const { request_type: requestType, parameters = {} } = body;
        const input = batchInput(body, {
          requestType,
          parameters: parameters as JsonObject,
          profileId: null,
        });
        requireRights(services, context, input);
        batches.read(input);
        const scope = await readTargets(api, trx, { body, context });
        const order = { input, scope, confirm, actor: context.actor.name };
        return orderBatch(api, trx, { batches, order, isDryRun: flags.dry_run });
      },
    }),
    action(api, {
      method: 'POST',
      path: `/${TYPE}/{id}/cancel`,
      operationId: 'cancelCommandBatch',
      tag: TYPE,
      role: 'operator',
      summary: 'Cancel a batch',
      description:
        'Queues no further command, and cancels those that are not final. A device that has one already may still ' +
        'carry it out; its answer is kept. 409 `conflict` once the batch has ended.',
      answer: { status: 200, description: 'The batch.', shows: TYPE },
      audit: { action: `${TYPE}.cancel`, targetType: TYPE },
      run: async (trx, { id }) => ({ details: await batches.cancel(trx, id) }),
    }),
    action(api, {
      method: 'POST',
      path: `/${TYPE}/{id}/retry_failed`,
      operationId: 'retryFailedOfCommandBatch',
      tag: TYPE,
      role: 'operator',
      summary: 'Repeat the command where it failed',
      description:
        'A new batch of the same command for devices whose command ended as Error, CommandFormatError or Expired. ' +
        'Each batch is retried once: then retry what failed in the new one. Confirmed as a new batch is.',
      confirms: true,
      answer: { status: 202, description: 'The new batch.', shows: TYPE },
      audit: { action: `${TYPE}.retry_failed`, targetType: TYPE },
      run: async (trx, { id, confirm, context }) => {
        const input = await batches.inputOf(trx, id);
        requireRights(services, context, input);
        const { actor } = context;
        const { id: newId, targets } = await batches.retryFailed(trx, id, {
          confirm,
          actor: actor.name,
        });
        const answer = created(api, newId, { input, targets, confirm });
        return { ...answer, targetId: id, details: { ...answer.details, batch: newId } };
      },
    }),
  ];
}

/** What a request says of a batch, with its command. */
export function batchInput(
  order: Order,
  command: Pick<BatchInput, 'requestType' | 'parameters' | 'profileId'>,
): BatchInput {
  const { name = null, priority = null, ttl = null, after = null, spread = 0 } = order;
  const { expires_at: expiresAt = null } = order;
  return { ...command, name, priority, ttl, after, expiresAt, spread };
}

/** Stores the batch, or with `isDryRun` only counts its targets. */
export async function orderBatch(
  api: ApiContext,
  trx: Transaction,
  { batches, order, isDryRun }: { batches: CommandBatches; order: BatchOrder; isDryRun: boolean },
): Promise<ActionResult> {
  const { input, confirm } = order;
  if (isDryRun) return { preview: previewOf(batches, input, await batches.preview(trx, order)) };
  const { id, targets } = await batches.create(trx, order);
  return created(api, id, { input, targets, confirm });
}

export function previewOf(batches: CommandBatches, input: BatchInput, targets: Targets) {
  const confirm = batches.toConfirm(input, targets);
  return confirm === undefined ? { targets } : { targets, confirm };
}

function created(
  { basePath }: ApiContext,
  id: number,
  { input, targets, confirm }: { input: BatchInput; targets: Targets; confirm: number | undefined },
) {
  const { matched, eligible } = targets;
  const details = { request_type: input.requestType, matched, eligible, confirm };
  return { ids: id, targetId: id, details, location: `${basePath}/${TYPE}/${id}` };
}
