import type { AuditOfCreated, Changes } from '../context.js';
import { createFlagsOf, inverseOf, type ResourceDefinition } from '../definition/definition.js';
import { resourcePath } from '../documents/document.js';
import type { Answer, ApiContext, ApiRequest } from '../handler.js';
import type { WriteQuery } from '../query/query.js';
import { type FixedByPath, type Parsed, parseCreate } from '../requests/input.js';
import { flagDetails } from './changes.js';
import type { CollectionPlace, ScopeOf } from './collection-place.js';
import { type ItemQuery, readWriteQuery } from './item.js';

/** The request of a create, read without the database. */
export interface Creation {
  definition: ResourceDefinition;
  /** Below a parent. */
  scopeOf: ScopeOf | undefined;
  request: ApiRequest;
  query: ItemQuery & WriteQuery;
  /** The document, after `adaptCreate`. */
  body: unknown;
  parsed: Parsed;
}

/** AppError if the query is wrong, or the body is no document of this type. */
export function readCreation(
  api: ApiContext,
  request: ApiRequest,
  { definition, place }: { definition: ResourceDefinition; place: CollectionPlace },
): Creation {
  const query = readWriteQuery(api, request, { definition, flags: createFlagsOf(definition) });
  const body = definition.adaptCreate?.(request.body) ?? request.body;
  const parsed = parseCreate(body, definition, fixedByPath(definition, place, request));
  const { input, faults } = parsed;
  if (faults.length > 0) {
    faults.push(...(definition.operations?.faults?.(input.attributes, api.services) ?? []));
  }
  return { definition, scopeOf: place.scopeOf, request, query, body, parsed };
}

function fixedByPath(
  definition: ResourceDefinition,
  { scopeOf, view }: CollectionPlace,
  { id }: ApiRequest,
): FixedByPath {
  const via = scopeOf?.relation.via;
  const parent = via && 'foreignKey' in via ? inverseOf(definition, via.foreignKey) : undefined;
  return {
    attributes: view ? { [view.attribute]: view.value } : {},
    toOne: parent === undefined ? {} : { [parent]: id },
  };
}

/** What changed, and what the operation adds to the details. */
interface Outcome {
  changes: Changes;
  details?: Record<string, unknown> | undefined;
}

/** The event of a create in the audit trail, less the id. */
export function auditOfCreate(
  { definition, scopeOf, request, query }: Creation,
  { changes, details }: Outcome,
): AuditOfCreated {
  return {
    context: request.context,
    action: `${definition.type}.create`,
    targetType: definition.type,
    outcome: 'success',
    changes,
    details: { ...flagDetails(query.flags), ...parentDetails(scopeOf, request), ...details },
  };
}

/** Audit details: the parent that it was created below. */
function parentDetails(scopeOf: ScopeOf | undefined, { id }: ApiRequest): Record<string, unknown> {
  return scopeOf ? { below: { type: scopeOf.parent.type, id } } : {};
}

/** The answer to a create. */
export function createdAnswer(
  { basePath }: ApiContext,
  definition: ResourceDefinition,
  { id, ...content }: { id: number } & Pick<Answer, 'document' | 'body' | 'etag'>,
): Answer {
  return { status: 201, ...content, location: resourcePath(basePath, definition, id) };
}
