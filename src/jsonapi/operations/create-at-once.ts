import { AppError } from '../../errors.js';
import type { AuditPartWriter } from '../context.js';
import type { CreatePlan, StatementPart } from '../create-plan.js';
import { relatedDefinition } from '../definition/definition.js';
import type { Answer, ApiContext } from '../handler.js';
import { claimOf, storable } from '../requests/idempotency.js';
import type { ColumnDefaults, GuardedInsert, Row } from '../store.js';
import { changesOf, createdColumns } from './changes.js';
import { auditOfCreate, type Creation, createdAnswer } from './creation.js';
import { itemColumns, rowContent } from './item.js';

/** The row of a create before it is stored. */
interface NewRow {
  /** What the insert names. */
  values: Record<string, unknown>;
  /** With the defaults of other columns; the id and times only if they were chosen. */
  row: Row;
  /** `row` has all that the document shows. */
  isWhole: boolean;
}

type Planned = Creation & NewRow & { plan: CreatePlan; shown: ReturnType<typeof itemColumns> };

/**
 * A create in one statement outside of any transaction, for a definition that can plan it. Undefined if
 * nothing was stored: it needs a transaction, or fails for a reason that a transaction finds.
 */
export async function createAtOnce(
  api: ApiContext,
  creation: Creation,
): Promise<Answer | undefined> {
  const { definition, query } = creation;
  if (api.auditPart === undefined) return undefined;
  const plan = await planOf(api, creation);
  if (plan === undefined) return undefined;
  const shown = itemColumns(definition, query);
  const made = await newRow(api, creation, { plan, columns: shown.columns });
  if (made === undefined) return undefined;
  const planned = { ...creation, ...made, plan, shown };
  const answer = await store(api, planned, auditPart(api, planned, api.auditPart));
  if (answer !== undefined) plan.afterCommit?.();
  return answer;
}

async function planOf(api: ApiContext, creation: Creation): Promise<CreatePlan | undefined> {
  const { definition, request, parsed, query, scopeOf } = creation;
  const { input, faults } = parsed;
  const { operations } = definition;
  if (operations?.plan === undefined || faults.length > 0) return undefined;
  if (query.include.length > 0 || Object.keys(input.toMany).length > 0) return undefined;
  if (scopeOf && !('foreignKey' in scopeOf.relation.via)) return undefined;
  const { services } = api;
  const { context } = request;
  const related = (name: string, columns: readonly string[]) =>
    findRelated(api, creation, { name, columns });
  const { flags } = query;
  const operation = { ...input, flags, shape: definition, services, context, related };
  try {
    return await operations.plan(operation);
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

async function findRelated(
  { store, registry }: ApiContext,
  { definition, parsed }: Creation,
  { name, columns }: { name: string; columns: readonly string[] },
): Promise<Row | undefined> {
  const relation = definition.relationships[name];
  const id = parsed.input.toOne[name];
  if (relation === undefined || typeof id !== 'number') return undefined;
  const shape = relatedDefinition(registry, relation);
  return store.find(null, { shape, id, columns });
}

/**
 * Chooses the id and the times beforehand where the stored answer or the audit trail names them.
 * Undefined if they name something else that only the database knows.
 */
async function newRow(
  api: ApiContext,
  { definition, request, parsed }: Creation,
  { plan, columns }: { plan: CreatePlan; columns: string[] },
): Promise<NewRow | undefined> {
  const defaults = await api.store.columnDefaults(definition);
  const values = defined(plan.values);
  const known = { ...defaults.values, ...values, ...plan.computed };
  const times = defaults.times.filter((column) => !Object.hasOwn(known, column));
  const unknown = createdColumns(definition, parsed.input).filter(
    (one) => !Object.hasOwn(known, one),
  );
  const isPossible = (column: string) => column === 'id' || times.includes(column);
  const isShown = (column: string) => Object.hasOwn(known, column) || isPossible(column);
  const isWhole = columns.every(isShown) && Object.values(values).every(isReadAsWritten);
  const hasKey = request.idempotency !== undefined;
  if (!unknown.every(isPossible) || (hasKey && !isWhole)) return undefined;
  if (!hasKey && unknown.length === 0) {
    return { values, row: Object.assign(known, { id: 0 }), isWhole: false };
  }
  const { id, now } = await api.store.nextId(definition);
  const chosen = { ...timesAt(now, times), id };
  return { values: { ...values, ...chosen }, row: Object.assign(known, chosen), isWhole };
}

function defined(values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

function timesAt(now: Date, times: ColumnDefaults['times']): Record<string, unknown> {
  return Object.fromEntries(times.map((column) => [column, now]));
}

/** Whether the stored column has the value that the row has already. */
function isKnown(column: string, { plan, values, row }: Planned): boolean {
  if (Object.hasOwn(plan.computed ?? {}, column)) return true;
  return column !== 'id' && Object.hasOwn(row, column) && isReadAsWritten(values[column]);
}

/** The database orders the members of JSON values by itself. */
function isReadAsWritten(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return value instanceof Date || Buffer.isBuffer(value);
}

function auditPart(api: ApiContext, planned: Planned, write: AuditPartWriter): StatementPart {
  const { definition, parsed, row } = planned;
  const { services } = api;
  const written = { services, before: null, after: row, input: parsed.input };
  return write(auditOfCreate(planned, { changes: changesOf(definition, written) }));
}

async function store(
  api: ApiContext,
  planned: Planned,
  audit: StatementPart,
): Promise<Answer | undefined> {
  const { definition, request, plan, shown, values, row, isWhole } = planned;
  const { guard } = plan;
  const insert = { shape: definition, values, guard, effects: [...plan.effects, audit] };
  if (!isWhole) {
    const columns = shown.columns.filter((column) => !isKnown(column, planned));
    const stored = await api.store.insertGuarded({ ...insert, columns });
    return stored && answerOf(api, planned, Object.assign(row, stored));
  }
  const answer = await answerOf(api, planned, row);
  const { idempotency, context } = request;
  const response: GuardedInsert['response'] = idempotency && {
    claim: claimOf(api.store, context, idempotency),
    answer: storable(answer),
  };
  const stored = await api.store.insertGuarded({ ...insert, columns: [], response });
  return stored && answer;
}

async function answerOf(api: ApiContext, planned: Planned, row: Row): Promise<Answer> {
  const { definition, query, shown, plan } = planned;
  const { id } = row;
  const options = { id, query, trx: null, meta: plan.meta };
  const content = await rowContent(api, { row, projection: shown.projection, options });
  return createdAnswer(api, definition, { id, ...content });
}
