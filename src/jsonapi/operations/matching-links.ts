import { type ErrorDetail, validationError } from '../../errors.js';
import type { Transaction } from '../context.js';
import { relatedDefinition, type ToMany } from '../definition/definition.js';
import { JSONAPI } from '../documents/document.js';
import type { Answer, ApiContext, ApiRequest } from '../handler.js';
import { parseStoredFilter } from '../query/filter.js';
import type { FilterNode } from '../query/filter-node.js';
import { lockTarget } from '../requests/entity-tag.js';
import { invalidDocument, isObject } from '../requests/input.js';
import type { RelationshipPlace } from './linkage.js';
import { addLinks, removeLinks } from './relate.js';

/** Links that one request, or one job, changes; jobs change the rest. */
export const MAX_AT_ONCE = 5_000;

const AT = '/meta/filter';

/** Related rows that a filter selects, and the filter of the request. */
export interface MatchingRows {
  filter: unknown[];
  nodes: FilterNode[];
}

/**
 * `meta.filter` of the body of POST or DELETE …/relationships/{name}; undefined where `data` names the rows.
 * AppError 422 for a wrong filter, and where the relationship takes none.
 */
export function readMatchingRows(
  { registry }: ApiContext,
  { body, context }: Pick<ApiRequest, 'body' | 'context'>,
  { relation }: RelationshipPlace<ToMany>,
): MatchingRows | undefined {
  const meta = isObject(body) && isObject(body.meta) ? body.meta : {};
  if (!isObject(body) || meta.filter === undefined) return undefined;
  if (!relation.acceptsFilter) throw invalidDocument(AT, 'this relationship takes no filter');
  if (body.data !== undefined) {
    throw invalidDocument('/data', 'name the rows by "data" or by "meta.filter", not by both');
  }
  const { filter } = meta;
  if (!Array.isArray(filter) || filter.length === 0) throw invalidDocument(AT, NO_ARRAY);
  const related = relatedDefinition(registry, relation);
  const { actor } = context;
  const parsed = parseStoredFilter({ name: 'filter', rules: filter }, related, { registry, actor });
  const faults = parsed.faults.map((detail): ErrorDetail => ({ detail, source: { pointer: AT } }));
  if (faults.length > 0) throw validationError(faults);
  return { filter, nodes: parsed.nodes };
}

const NO_ARRAY =
  'must be an array of rules, such as [{"name": "platform", "op": "eq", "val": "iOS"}]; several must all hold';

export interface MatchingChange {
  place: RelationshipPlace<ToMany>;
  verb: 'add' | 'remove';
  request: ApiRequest;
  rows: MatchingRows;
}

/** What one request changes itself, of how many; or the answer, where jobs change them. */
export type MatchedRows = { relatedIds: number[]; matched: number } | { later: Answer };

/** The rows that match and are to change. AppError 409 `confirmation_required`. */
export async function matchRows(
  api: ApiContext,
  trx: Transaction,
  change: MatchingChange,
): Promise<MatchedRows> {
  const { place, verb, request, rows } = change;
  const { relation } = place;
  const shape = relatedDefinition(api.registry, relation);
  const ids = await api.store.matching(trx, { shape, filter: rows.nodes });
  const matched = ids.length;
  const { id, confirm } = request;
  api.effectCheck?.checkMatched({ count: matched, most: MAX_AT_ONCE, confirm });
  const linked = new Set(await api.store.linkage(trx, { relation, shape, id, only: ids }));
  const due = ids.filter((one) => linked.has(one) === (verb === 'remove'));
  if (due.length > MAX_AT_ONCE && api.linkJobs !== undefined) {
    return { later: await changeLater(api, trx, { ...change, due, matched }) };
  }
  const gone = new Set(await api.store.missing(trx, { shape, ids: due }));
  return { relatedIds: due.filter((one) => !gone.has(one)), matched };
}

async function changeLater(
  api: ApiContext,
  trx: Transaction,
  { place, verb, request, rows, due, matched }: MatchingChange & { due: number[]; matched: number },
): Promise<Answer> {
  const { definition, name, relation } = place;
  const { id, context, path } = request;
  await lockTarget(api, trx, { ...request, definition });
  // The first one here: it is refused where the relationship can't be changed.
  const change = verb === 'add' ? addLinks : removeLinks;
  const owner = { definition, trx, context, id };
  await change(api, owner, { relation, relatedIds: due.slice(0, 1), at: AT });
  const later = { type: definition.type, id, name, verb, relatedIds: due.slice(1) };
  await api.linkJobs?.add(trx, later);
  await api.audit(trx, {
    context,
    action: `${definition.type}.${name}.${verb}`,
    targetType: definition.type,
    targetId: id,
    outcome: 'success',
    details: { filter: rows.filter, matched, changing: due.length },
  });
  const meta = { matched, changing: due.length };
  return { status: 202, document: { links: { self: path }, meta, jsonapi: JSONAPI } };
}
