import { AppError, type ErrorDetail, validationError } from '../../errors.js';
import { hasRole, type RequestContext, type Transaction } from '../context.js';
import {
  changesRelated,
  type ResourceDefinition,
  relatedDefinition,
  roleToLink,
  type WriteInput,
} from '../definition/definition.js';
import { pointersById, type SentLinkage } from '../definition/identifiers.js';
import type { ApiContext } from '../handler.js';
import type { Parsed } from '../requests/input.js';
import { pointer } from '../requests/pointers.js';

/** Faults in one response, so that a small request does not get a huge one. */
const MAX_FAULTS = 500;

/** Related resources that a request names. */
interface NamedResources extends SentLinkage {
  shape: ResourceDefinition;
  ids: number[];
  /** Whether the request changes these rows, too. */
  willChange?: boolean | undefined;
}

/** AppError 404 naming every related resource that does not exist; locks the others. */
export async function requireRelated(
  api: ApiContext,
  trx: Transaction,
  wanted: NamedResources[],
): Promise<void> {
  const details = await missingRelated(api, trx, wanted);
  if (details.length === 0) return;
  const message = details.map((fault) => fault.detail).join('; ');
  throw new AppError('not_found', 404, message, { details });
}

async function missingRelated(
  { store }: ApiContext,
  trx: Transaction,
  wanted: NamedResources[],
): Promise<ErrorDetail[]> {
  const details: ErrorDetail[] = [];
  for (const { shape, ids, willChange, ...sent } of wanted) {
    const missing = await store.missing(trx, { shape, ids, willChange });
    if (missing.length === 0) continue;
    const pointerOf = pointersById(sent);
    for (const id of missing) {
      const detail = `${shape.type} ${id} does not exist`;
      details.push({ detail, source: { pointer: pointerOf(id) } });
    }
  }
  return details.slice(0, MAX_FAULTS);
}

interface ParsedBody {
  definition: ResourceDefinition;
  parsed: Parsed;
  /** The parsed document. */
  body: unknown;
  context: RequestContext;
  /** Asked for more where the input has faults. */
  furtherFaults?: ((input: WriteInput) => Promise<ErrorDetail[]>) | undefined;
}

/**
 * Returns the input if it is valid and everything it refers to exists. AppError 422 with every fault
 * and its pointer, 404 if its only faults are missing related resources, 403 if the actor may change
 * the resource but not the rows that a relationship would change.
 */
export async function requireValid(
  api: ApiContext,
  trx: Transaction,
  { definition, parsed, body, context, furtherFaults }: ParsedBody,
): Promise<WriteInput> {
  const { input, faults } = parsed;
  for (const name of Object.keys(input.toMany)) requireRole(api, context, { definition, name });
  const wanted = relatedIn(api, definition, { input, body });
  if (faults.length === 0) {
    await requireRelated(api, trx, wanted);
    return input;
  }
  const missing = await missingRelated(api, trx, wanted);
  const unknown = missing.map((fault): ErrorDetail => ({ ...fault, code: 'not_found' }));
  const further = (await furtherFaults?.(input)) ?? [];
  throw validationError([...faults, ...unknown, ...further].slice(0, MAX_FAULTS));
}

function requireRole(
  { registry }: ApiContext,
  { actor }: RequestContext,
  { definition, name }: { definition: ResourceDefinition; name: string },
): void {
  const relation = definition.relationships[name];
  if (relation?.kind !== 'toMany') return;
  const role = roleToLink(registry, { definition, relation }) ?? definition.access.create;
  if (role === null || hasRole(actor, role)) return;
  const source = { pointer: pointer('data', 'relationships', name) };
  throw new AppError('forbidden', 403, `to change ${name} needs the role ${role}`, { source });
}

/** The resources that a document's relationships name; 0 stands for a malformed identifier. */
function relatedIn(
  { registry }: ApiContext,
  definition: ResourceDefinition,
  { input: { toOne, toMany }, body }: { input: WriteInput; body: unknown },
): NamedResources[] {
  const named = [
    ...Object.entries(toOne).map(([name, id]): [string, number[]] => [name, id ? [id] : []]),
    ...Object.entries(toMany),
  ];
  return named.flatMap(([name, given]) => {
    const relation = definition.relationships[name];
    const ids = given.filter((id) => id > 0);
    if (relation === undefined || ids.length === 0) return [];
    const sentAs = sentName(definition, name, body);
    const at = pointer('data', 'relationships', sentAs, 'data');
    const data = sentLinkage(body, sentAs);
    const willChange = changesRelated(relation);
    return [{ shape: relatedDefinition(registry, relation), ids, willChange, data, at }];
  });
}

/** The name of the relationship in the document: its own, or that of its union. */
function sentName({ unions = {} }: ResourceDefinition, name: string, body: unknown): string {
  if (sentLinkage(body, name) !== undefined) return name;
  const union = Object.entries(unions).find(([, parts]) => parts.includes(name));
  return union?.[0] ?? name;
}

function sentLinkage(body: unknown, name: string): unknown {
  const { data } = body as { data?: { relationships?: Record<string, { data?: unknown }> } };
  return data?.relationships?.[name]?.data;
}
