import type {
  CommandAdministration,
  CommandChanges,
  CommandContent,
  EnqueueInput,
} from '../../commands/command-administration.js';
import type { JsonObject, StoredPlist } from '../../commands/present-command.js';
import { AppError, type ErrorDetail, notFound, validationError } from '../../errors.js';
import type { Actor, RequestContext } from '../../jsonapi/context.js';
import type { CreatePlan } from '../../jsonapi/create-plan.js';
import type {
  CreateOperation,
  DeleteOperation,
  DeriveSource,
  PlanOperation,
  UpdateOperation,
  WriteInput,
  WriteResult,
} from '../../jsonapi/definition/definition.js';
import { JsonText } from '../../jsonapi/documents/json-text.js';
import { requireRecentSignIn } from '../../jsonapi/requests/recent-sign-in.js';
import type { Row } from '../../jsonapi/store.js';
import { changedAttributes, type Service } from '../common.js';

export interface CommandServices {
  commands: Service<CommandAdministration>;
}

type RequestedCommand = Pick<CommandContent, 'requestType' | 'parameters'>;

type Target = Parameters<CommandAdministration['plan']>[0];

type CommandCreate = Pick<
  PlanOperation<CommandServices>,
  'attributes' | 'toOne' | 'services' | 'context' | 'flags'
>;

/** AppError 403 when an operator asks for what only an admin may, or a session that has not signed in recently. */
export function requireRights(
  { commands }: { commands: Pick<CommandServices['commands'], 'adminReason'> },
  { actor }: RequestContext,
  { requestType, parameters }: RequestedCommand,
): void {
  const reason = commands.adminReason(requestType, parameters);
  if (reason === undefined) return;
  if (actor.role !== 'admin') throw new AppError('forbidden', 403, reason);
  requireRecentSignIn(actor);
}

export async function createCommand(
  operation: CreateOperation<CommandServices>,
): Promise<WriteResult> {
  const { trx, services } = operation;
  const { id, warnings } = await services.commands.enqueue(trx, inputOf(operation));
  return warnings.length > 0 ? { id, meta: { warnings } } : { id };
}

export async function planCommand(
  operation: PlanOperation<CommandServices>,
): Promise<CreatePlan | undefined> {
  const { services, related } = operation;
  const input = inputOf(operation);
  const target = await related('device', services.commands.targetColumns);
  return target && services.commands.plan(target as unknown as Target, input);
}

/** Faults of parameters and times; none if the request type or the parameters cannot be read. */
export function commandFaults(
  attributes: WriteInput['attributes'],
  { commands }: CommandServices,
): ErrorDetail[] {
  const { request_type: requestType, parameters = {} } = attributes;
  const isUnread = Object.hasOwn(attributes, 'parameters') && attributes.parameters === undefined;
  if (typeof requestType !== 'string' || isUnread) return [];
  return commands.faults({
    ...timesIn(attributes),
    requestType,
    parameters: (parameters ?? {}) as JsonObject,
  });
}

/** Why the device is not eligible, for a document that has other faults. */
export async function furtherFaults({
  trx,
  attributes,
  toOne,
  flags,
  context,
  services: { commands },
}: CreateOperation<CommandServices>): Promise<ErrorDetail[]> {
  const { request_type: requestType, parameters } = attributes;
  if (typeof requestType !== 'string' || typeof toOne.device !== 'number') return [];
  return commands.ineligibility(trx, {
    requestType,
    parameters: (parameters ?? {}) as JsonObject,
    deviceId: toOne.device,
    userId: typeof toOne.user === 'number' ? toOne.user : undefined,
    isForced: flags.has('force') && context.actor.role === 'admin',
  });
}

function timesIn({ after, expires_at }: WriteInput['attributes']) {
  return {
    after: after instanceof Date ? after : undefined,
    expiresAt: expires_at instanceof Date ? expires_at : undefined,
  };
}

/** AppError 403 when the actor may not queue it. */
function inputOf(operation: CommandCreate): EnqueueInput {
  const { services, context, toOne, flags, attributes } = operation;
  const { request_type, parameters, priority, ttl } = attributes;
  const asked: RequestedCommand = {
    requestType: String(request_type),
    parameters: (parameters ?? {}) as JsonObject,
  };
  requireRights(services, context, asked);
  const isForced = flags.has('force');
  if (isForced && context.actor.role !== 'admin') {
    throw new AppError('forbidden', 403, 'to force a command needs the role admin');
  }
  const input: EnqueueInput = {
    ...asked,
    ...timesIn(attributes),
    isForced,
    deviceId: Number(toOne.device),
  };
  if (typeof toOne.user === 'number') input.userId = toOne.user;
  if (typeof priority === 'number') input.priority = priority;
  if (typeof ttl === 'number') input.ttl = ttl;
  return input;
}

export async function updateCommand(
  operation: UpdateOperation<CommandServices>,
): Promise<WriteResult> {
  const { trx, store, shape, services, id, attributes } = operation;
  const columns = Object.keys(attributes);
  // Locked: a device may report at this moment.
  const command = await store.find(trx, { shape, id, columns, lock: true });
  if (command === undefined) throw notFound(`commands ${id}`);
  const changes: CommandChanges & { status?: string } = changedAttributes(command, attributes);
  if (Object.keys(changes).length === 0) return { id };
  if (changes.status !== undefined && changes.status !== 'Cancelled') {
    const source = { pointer: '/data/attributes/status' };
    throw validationError([{ detail: 'status can only become Cancelled', source }]);
  }
  await services.commands.update(trx, { id, changes: changes as CommandChanges });
  return { id };
}

export async function removeCommand(operation: DeleteOperation<CommandServices>): Promise<void> {
  const { trx, services, id } = operation;
  await services.commands.remove(trx, { id });
}

/** The derived attributes: plists are stored as bytes, sealed when they hold a secret. */
export function presentCommand(
  name: string,
  row: Row,
  { services: { commands }, actor }: DeriveSource<CommandServices>,
): unknown {
  const stored = row as unknown as StoredCommand;
  if (name === 'parameters') return commands.presentParameters(stored, actor);
  if (name === 'result') return presentResult(stored, { commands, actor });
  return commands.presentErrors(stored.error_chain, actor);
}

/** Large results become text that another thread has written. */
export async function prepareCommands(
  rows: Row[],
  { services: { commands }, actor }: DeriveSource<CommandServices>,
): Promise<void> {
  for (const row of rows) {
    const { uuid, result } = row as unknown as StoredCommand;
    if (!Buffer.isBuffer(result)) continue;
    const text = await commands.presentInParallel({ uuid, result }, actor);
    if (text !== undefined) row.result = new JsonText(text);
  }
}

function presentResult(
  { uuid, result }: StoredCommand,
  { commands, actor }: { commands: CommandServices['commands']; actor: Actor },
): unknown {
  return result instanceof JsonText ? result : commands.presentResult({ uuid, result }, actor);
}

interface StoredCommand extends StoredPlist {
  result: Buffer | JsonText | null;
  error_chain: JsonObject[string];
}
