import { AppError, type ErrorDetail } from '../../errors.js';
import type { RequestContext } from '../context.js';
import type { ResourceDefinition } from '../definition/definition.js';
import { type Document, JSONAPI, serialize } from '../documents/document.js';
import { project } from '../documents/projection.js';
import type { Answer, ApiContext } from '../handler.js';
import { entityTag, parseIfMatch, stateOf } from '../requests/entity-tag.js';
import { invalidDocument, isObject, parseUpdate } from '../requests/input.js';
import { inFlatBody, pointer } from '../requests/pointers.js';
import type { Row } from '../store.js';

/** The id of the only resource. */
export const SINGLETON_ID = 1;

/** A type with one resource, at a path without an id. Null returns an attribute to its default. */
export interface SingletonDefinition<S = unknown> extends ResourceDefinition<S> {
  /** Converts attributes to column values; without it they are the attributes. */
  columnsOf?(attributes: Record<string, unknown>, services: S): Record<string, unknown>;
  /** Faults of the whole row as it would be written, by attribute. */
  faultsOf?(row: Row): Record<string, string>;
}

/** The attributes of a write, and whether its body was a flat object instead of a document. */
export interface SingletonInput {
  attributes: Record<string, unknown>;
  isFlat: boolean;
}

/**
 * Reads `{"data":{"attributes":…}}` or only the attributes; `type` and `id` may be omitted. AppError
 * 422 with every fault and its pointer into the body, 409 for another type or id.
 */
export function parseSingleton(body: unknown, definition: SingletonDefinition): SingletonInput {
  if (!isObject(body)) throw invalidDocument('', 'the body must be a JSON object');
  const isFlat = !Object.hasOwn(body, 'data');
  const data = isFlat ? documentData(body) : body.data;
  if (!isObject(data)) throw invalidDocument('/data', '"data" must be one resource object');
  const { type = definition.type, ...rest } = data;
  try {
    const document = { data: { type, ...rest } };
    const { attributes } = parseUpdate(document, { definition, id: SINGLETON_ID });
    return { attributes, isFlat };
  } catch (error) {
    throw isFlat ? inFlatBody(error) : error;
  }
}

function documentData({
  type,
  id,
  ...attributes
}: Record<string, unknown>): Record<string, unknown> {
  const data: Record<string, unknown> = { attributes };
  if (type !== undefined) data.type = type;
  if (id !== undefined) data.id = id;
  return data;
}

/** Faults by attribute with their pointers into the body. */
export function faultsInBody(
  faults: Record<string, string>,
  { isFlat }: Pick<SingletonInput, 'isFlat'>,
): ErrorDetail[] {
  const steps = isFlat ? [] : ['data', 'attributes'];
  return Object.entries(faults).map(([name, detail]) => ({
    detail,
    source: { pointer: pointer(...steps, name) },
  }));
}

/** The row, or the defaults before the first write, and warnings for the admin. */
export interface Singleton {
  context: RequestContext;
  row: Row;
  warnings: string[];
}

/** The document with its entity tag. */
export function singletonAnswer(
  { basePath, registry, services }: ApiContext,
  definition: SingletonDefinition,
  { context, row, warnings }: Singleton,
): Answer {
  const reader = { registry, actor: context.actor };
  const projection = project(definition, { detail: true, reader });
  const links = { self: basePath + definition.path };
  const data = { ...serialize(row, { projection, basePath, registry, services }), links };
  const meta = warnings.length > 0 ? { meta: { warnings } } : {};
  const document: Document = { data, links, ...meta, jsonapi: JSONAPI };
  const body = Buffer.from(JSON.stringify(document));
  return { status: 200, document, body, etag: entityTag(definition, row, body) };
}

/** AppError 412 if If-Match does not name the row's state, 400 if it is malformed. */
export function checkIfMatch(
  definition: SingletonDefinition,
  row: Row,
  ifMatch: string | undefined,
): void {
  const states = ifMatch === undefined ? undefined : parseIfMatch(ifMatch);
  if (!states || states.has(stateOf(definition, row))) return;
  const message = `${definition.type} have been changed meanwhile; read them again`;
  throw new AppError('precondition_failed', 412, message, { source: { header: 'If-Match' } });
}
