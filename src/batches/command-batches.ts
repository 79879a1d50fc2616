import { randomUUID } from 'node:crypto';
import { oneOffFacts, oneOffRefusals } from '../assignments/one-off-profiles.js';
import type { CommandAdministration } from '../commands/command-administration.js';
import { timeFaults } from '../commands/command-times.js';
import { isDestructive } from '../commands/command-types.js';
import type { JsonObject, Reader } from '../commands/present-command.js';
import { maskForViewers } from '../commands/secrets/viewer-mask.js';
import type { SecretBox } from '../crypto/secrets/secret-box.js';
import {
  type Batch,
  cancelCommands,
  findRetry,
  insertBatch,
  linkTargets,
  lockBatch,
  stopBatch,
  storeTargets,
  type Targets,
} from '../db/batches/batch-repository.js';
import {
  countTargets,
  type FailedOf,
  listTargets,
  NO_NEEDS,
  type TargetSelection,
} from '../db/batches/batch-targets.js';
import { afterCommit, type Transaction } from '../db/connection/unit-of-work.js';
import { AppError, notFound, validationError } from '../errors.js';
import { type JsonValue, maskSecrets } from '../protocol/apple/command-schema.js';
import { decide, needsOf } from './batch-decision.js';
import {
  type BatchCommand,
  isOfDeletedProfile,
  maxSpread,
  type OrderedCommand,
  profileCommand,
  readBatchCommand,
  spreadFaults,
  verbOf,
} from './batch-draft.js';
import { openParameters, type StoredParameters, sealParameters } from './batch-parameters.js';
import { BatchTotals, noneEligible } from './batch-totals.js';

/** A batch as a request describes it. */
export interface BatchInput extends OrderedCommand {
  name: string | null;
  priority: number | null;
  ttl: number | null;
  after: Date | null;
  expiresAt: Date | null;
  /** Seconds over which the commands become due. */
  spread: number;
}

/** The targets of a batch, and the filter of the request. */
export interface BatchScope {
  selection: TargetSelection | FailedOf;
  filter: unknown[] | null;
}

export interface BatchOrder {
  input: BatchInput;
  scope: BatchScope;
  /** The number of devices that the client has confirmed. */
  confirm: number | undefined;
  actor: string;
}

export interface CommandBatchDeps {
  box: SecretBox;
  commands: Pick<CommandAdministration, 'faults'>;
  /** More devices have to be confirmed. */
  confirmAbove: number;
  /** Called after each commit that made work for the expansion. */
  wake: () => void;
}

/** Devices of one transaction of the expansion, by how their commands are made. */
export const SLICE_SIZES = { uniform: 1_000, rendered: 200, own: 50, profile: 500 } as const;

/** In the request that cancels; the others follow soon. */
const CANCELLED_AT_ONCE = 2_000;

/** Commands for many devices by one request. Every method works in the caller's transaction. */
export class CommandBatches {
  readonly #deps: CommandBatchDeps;

  constructor(deps: CommandBatchDeps) {
    this.#deps = deps;
  }

  /** The command, without any fault. AppError 422 with every fault. */
  read(input: OrderedCommand & Pick<BatchInput, 'after' | 'expiresAt' | 'spread'>): BatchCommand {
    const { command, faults } =
      input.profileId === null
        ? readBatchCommand(this.#deps.commands, input)
        : { command: profileCommand(input.requestType), faults: [] };
    const all = [...faults, ...timeFaults(input), ...spreadFaults(input)];
    if (all.length > 0) throw validationError(all);
    return command;
  }

  /** What would become of the targets. Stores nothing. */
  async preview(trx: Transaction, { input, scope }: BatchOrder): Promise<Targets> {
    return this.#count(trx, input, { command: this.read(input), selection: scope.selection });
  }

  /** The number of devices to confirm; undefined: the batch needs no confirmation. */
  toConfirm(
    { requestType }: Pick<BatchInput, 'requestType'>,
    { eligible }: Targets,
  ): number | undefined {
    const isLarge = eligible > this.#deps.confirmAbove;
    return isLarge || (isDestructive(requestType) && eligible > 1) ? eligible : undefined;
  }

  /**
   * Stores a batch; its commands are queued soon after the commit. AppError 422 `no_eligible_device`, 409
   * `confirmation_required`.
   */
  async create(
    trx: Transaction,
    order: BatchOrder,
    retryOf: number | null = null,
  ): Promise<{ id: number; targets: Targets }> {
    const { input, scope, actor } = order;
    const command = this.read(input);
    const uuid = randomUUID();
    const { requestType, parameters, name, priority, ttl, after, expiresAt, spread } = input;
    const id = await insertBatch(trx, {
      uuid,
      name,
      priority,
      ttl,
      after,
      spread,
      request_type: requestType,
      expires_at: expiresAt,
      parameters: sealParameters(this.#deps.box, { uuid, parameters }),
      profile_id: input.profileId,
      filter: scope.filter === null ? null : JSON.stringify(scope.filter),
      retry_of_id: retryOf,
      created_by: actor,
    });
    const batch = { id, sliceSize: SLICE_SIZES[command.kind] };
    const targets = await this.#count(trx, input, { command, selection: scope.selection, batch });
    this.#require(order, targets);
    if (!('failedOf' in scope.selection)) await linkTargets(trx, id, scope.selection);
    await storeTargets(trx, id, targets);
    afterCommit(trx, this.#deps.wake);
    return { id, targets };
  }

  /** No further command is queued, and those that are not final are cancelled. AppError 409 once it has ended. */
  async cancel(trx: Transaction, id: number): Promise<{ cancelled: number }> {
    const batch = await this.#lock(trx, id);
    if (batch.state === 'finished' || batch.state === 'cancelled') {
      throw new AppError(
        'conflict',
        409,
        `batch ${id} is ${batch.state}: there is nothing to cancel`,
      );
    }
    await stopBatch(trx, id);
    const { count: cancelled } = await cancelCommands(trx, id, { limit: CANCELLED_AT_ONCE });
    afterCommit(trx, this.#deps.wake);
    return { cancelled };
  }

  /** What the batch was ordered as. AppError 404. */
  async inputOf(trx: Transaction, id: number): Promise<BatchInput> {
    return inputOf(this.#deps.box, await this.#lock(trx, id));
  }

  /** A new batch of the same command for those whose command failed. AppError 409. */
  async retryFailed(
    trx: Transaction,
    id: number,
    { confirm, actor }: Pick<BatchOrder, 'confirm' | 'actor'>,
  ): Promise<{ id: number; targets: Targets }> {
    const batch = await this.#lock(trx, id);
    const former = await findRetry(trx, id);
    if (former !== undefined) {
      const detail =
        `batch ${id} was retried as batch ${former}: retry what failed there ` +
        `(POST /api/v1/command_batches/${former}/retry_failed)`;
      throw new AppError('conflict', 409, detail);
    }
    if (batch.state === 'expanding') {
      const detail = `batch ${id} is still queueing its commands: wait until its state is running`;
      throw new AppError('conflict', 409, detail);
    }
    const input = inputOf(this.#deps.box, batch);
    if (isOfDeletedProfile(input)) {
      throw new AppError('conflict', 409, `the profile of batch ${id} has been deleted`);
    }
    const scope = { selection: { failedOf: id }, filter: null };
    return this.create(trx, { input, scope, confirm, actor }, id);
  }

  /** The parameters of a stored batch, as far as the reader may see them. */
  presentParameters(row: StoredParameters, { role }: Reader): JsonObject {
    const json = maskSecrets(openParameters(this.#deps.box, row));
    return role === 'viewer' ? (maskForViewers(json) as JsonObject) : json;
  }

  /** How commands failed. Messages of devices may hold addresses with passwords. */
  presentFailures({ failures }: StoredBatch, { role }: Reader): JsonValue {
    return role === 'viewer' ? maskForViewers(failures) : failures;
  }

  async #count(
    trx: Transaction,
    { profileId }: Pick<BatchInput, 'profileId'>,
    counted: Counted,
  ): Promise<Targets> {
    const { command, selection, batch } = counted;
    if (profileId !== null) return this.#countProfile(trx, profileId, counted);
    const groups = await countTargets(trx, selection, { needs: needsOf(command), batch });
    const totals = new BatchTotals();
    for (const { count, examples: ids, ...facts } of groups) {
      const { refusal, leftOut } = decide(command, facts);
      totals.add({ ids, count, refusal, leftOut });
    }
    return totals.targets;
  }

  async #countProfile(
    trx: Transaction,
    profileId: number,
    { command, selection, batch }: Counted,
  ): Promise<Targets> {
    const verb = verbOf(command);
    const { further, assigned } = await oneOffFacts(trx, { profileId, verb }, () =>
      listTargets(trx, selection),
    );
    const needs = { ...NO_NEEDS, further };
    const groups = await countTargets(trx, selection, { needs, batch });
    const deviceIds = groups.flatMap(({ examples: [first] }) => first ?? []);
    const refusals = await oneOffRefusals(trx, { profileId, verb, deviceIds, assigned });
    const totals = new BatchTotals();
    for (const { count, examples: ids } of groups) {
      totals.add({ ids, count, refusal: refusals.get(ids[0] ?? 0) ?? undefined });
    }
    return totals.targets;
  }

  /** AppError 422 `no_eligible_device`. */
  requireEligible({ input, scope }: BatchOrder, targets: Targets): void {
    if (targets.eligible === 0) {
      throw noneEligible(input.requestType, targets, 'failedOf' in scope.selection);
    }
  }

  #require(order: BatchOrder, targets: Targets): void {
    const { input, confirm } = order;
    this.requireEligible(order, targets);
    const number = this.toConfirm(input, targets);
    if (number === undefined || (confirm ?? 0) >= number) return;
    const why = isDestructive(input.requestType)
      ? 'which can not be undone'
      : `more than CONFIRM_ABOVE (${this.#deps.confirmAbove})`;
    const detail =
      `${number} devices would get ${input.requestType}, ${why}. If that is meant, repeat the request ` +
      `with "meta": {"confirm": ${number}} in its document, or with ?confirm=${number}`;
    const details = [{ detail, meta: { confirm: number, targets } }];
    throw new AppError('confirmation_required', 409, detail, { details });
  }

  async #lock(trx: Transaction, id: number): Promise<Batch> {
    const batch = await lockBatch(trx, id);
    if (batch === undefined) throw notFound(`command_batches ${id}`);
    return batch;
  }
}

interface Counted {
  command: BatchCommand;
  selection: TargetSelection | FailedOf;
  batch?: { id: number; sliceSize: number };
}

/** The columns of a batch that are shown in another form. */
export interface StoredBatch extends StoredParameters {
  failures: JsonValue;
}

/** Times that have passed are not repeated. */
function inputOf(box: SecretBox, batch: Batch): BatchInput {
  const { name, request_type: requestType, profile_id: profileId, priority, ttl } = batch;
  const { expires_at: given } = batch;
  const expiresAt = given !== null && given.getTime() > Date.now() ? given : null;
  const longest = expiresAt === null ? batch.spread : maxSpread({ after: null, expiresAt });
  const spread = Math.min(batch.spread, longest);
  const parameters = openParameters(box, batch);
  const order = { name, requestType, parameters, profileId, priority, ttl, spread };
  return { ...order, after: null, expiresAt };
}
