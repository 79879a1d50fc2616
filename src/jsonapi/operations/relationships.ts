import { type ErrorDetail, validationError } from '../../errors.js';
import type { LinkChange, Transaction } from '../context.js';
import { changesRelated, relatedDefinition, type ToMany } from '../definition/definition.js';
import { readIdentifier, readIdentifiers } from '../definition/identifiers.js';
import type { ToOne } from '../definition/shape.js';
import type { Document } from '../documents/document.js';
import type { Answer, ApiContext, ApiRequest, WriteHandler } from '../handler.js';
import { refuseParameters } from '../query/parameters.js';
import { lockTarget } from '../requests/entity-tag.js';
import { dataOf, invalidDocument } from '../requests/input.js';
import { linkageDocument, type RelationshipPlace } from './linkage.js';
import { type MatchingChange, matchRows, readMatchingRows } from './matching-links.js';
import { addLinks, type Owner, type RelateChange, removeLinks, replace } from './relate.js';
import { requireRelated } from './related-check.js';
import { lockRow, update } from './update.js';

/** PATCH …/relationships/{name} of a to-one relationship. */
export function changeLinkHandler(place: RelationshipPlace<ToOne>): WriteHandler {
  return (api, request) => {
    refuseParameters(request.query);
    const related = readLink(request.body, place.relation);
    return async (trx) => {
      await changeLink(api, trx, { place, request, related });
      return { status: 200, document: await linkageDocument(api, place, { ...request, trx }) };
    };
  };
}

function readLink(body: unknown, { type, required }: ToOne): number | null {
  const faults: ErrorDetail[] = [];
  const data = dataOf(body);
  if (data === null && required !== true) return null;
  const id = readIdentifier(data, { type, at: '/data', faults });
  if (faults.length > 0) throw validationError(faults);
  return id;
}

interface ChangingOne {
  place: RelationshipPlace<ToOne>;
  request: ApiRequest;
  related: number | null;
}

async function changeLink(
  api: ApiContext,
  trx: Transaction,
  { place, request, related }: ChangingOne,
): Promise<void> {
  const { definition, name, relation } = place;
  const before = await lockRow(api, trx, { definition, request });
  const shape = relatedDefinition(api.registry, relation);
  const ids = related === null ? [] : [related];
  await requireRelated(api, trx, [{ shape, ids, data: null, at: '/data' }]);
  const input = { attributes: {}, toOne: { [name]: related }, toMany: {} };
  await update(api, trx, { definition, request, before, input });
}

type Relate = (api: ApiContext, owner: Owner, change: RelateChange) => Promise<LinkChange>;

const CHANGES = { add: addLinks, replace, remove: removeLinks } satisfies Record<string, Relate>;

export type LinkVerb = keyof typeof CHANGES;

/** POST, PATCH and DELETE …/relationships/{name} of a to-many relationship. */
export function changeLinksHandler(place: RelationshipPlace<ToMany>, verb: LinkVerb): WriteHandler {
  return (api, request) => {
    refuseParameters(request.query);
    const rows = readMatchingRows(api, request, place);
    if (rows !== undefined) return changeMatching(api, { place, verb, request, rows });
    const relatedIds = readLinkage(request.body, place.relation);
    return (trx) => changeNamed(api, trx, { place, verb, request, relatedIds });
  };
}

async function changeNamed(
  api: ApiContext,
  trx: Transaction,
  change: ChangingMany,
): Promise<Answer> {
  const { place, request, matched } = change;
  const meta = await changeLinks(api, trx, change);
  const document = await linkageDocument(api, place, { ...request, trx });
  const counted = matched === undefined ? meta : { ...meta, matched };
  return { status: 200, document: withMeta(document, counted) };
}

function changeMatching(
  api: ApiContext,
  { verb, ...change }: Omit<MatchingChange, 'verb'> & { verb: LinkVerb },
): (trx: Transaction) => Promise<Answer> {
  if (verb === 'replace') throw invalidDocument('/meta/filter', 'PATCH takes no filter');
  return async (trx) => {
    const found = await matchRows(api, trx, { ...change, verb });
    if ('later' in found) return found.later;
    return changeNamed(api, trx, { ...change, verb, ...found });
  };
}

function readLinkage(body: unknown, { type }: ToMany): number[] {
  const faults: ErrorDetail[] = [];
  const ids = readIdentifiers(dataOf(body), { type, at: '/data', faults });
  if (faults.length > 0) throw validationError(faults);
  return ids;
}

function withMeta(document: Document, meta: Record<string, unknown>): Document {
  if (Object.keys(meta).length === 0) return document;
  const count = Array.isArray(document.data) ? document.data.length : 0;
  return { ...document, meta: { count, ...meta } };
}

interface ChangingMany {
  place: RelationshipPlace<ToMany>;
  verb: LinkVerb;
  request: ApiRequest;
  relatedIds: number[];
  /** How many a filter matched; undefined: the body names them. */
  matched?: number | undefined;
}

async function changeLinks(
  api: ApiContext,
  trx: Transaction,
  { place, verb, request, relatedIds, matched }: ChangingMany,
): Promise<Record<string, unknown>> {
  const { definition, name, relation } = place;
  const { id, context } = request;
  // The lock also serializes two replacements of one relationship.
  await lockTarget(api, trx, { ...request, definition });
  const shape = relatedDefinition(api.registry, relation);
  const data = matched === undefined ? dataOf(request.body) : null;
  const willChange = changesRelated(relation);
  await requireRelated(api, trx, [{ shape, ids: relatedIds, willChange, data, at: '/data' }]);
  const meta = {};
  const owner = { definition, trx, context, id, meta };
  const change = await CHANGES[verb](api, owner, { relation, relatedIds, at: '/data' });
  await api.audit(trx, {
    context,
    action: `${definition.type}.${name}.${verb}`,
    targetType: definition.type,
    targetId: id,
    outcome: 'success',
    changes: { [name]: change },
  });
  return meta;
}
