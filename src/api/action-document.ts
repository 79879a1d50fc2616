import type { z } from 'zod';
import { type Document, JSONAPI } from '../jsonapi/documents/document.js';
import { toSchema } from './action-body.js';
import type { Schema } from './api-route.js';

/** A document that shows no stored resource, but what an action or a read found. */
export interface OwnDocument {
  type: string;
  /** Type and description of each attribute. */
  attributes: z.ZodType;
  /** The one id there is; others show an id of their path. */
  onlyId?: number;
}

/** A document without resources. */
export interface MetaDocument {
  /** Type and description of each member of `meta`. */
  meta: z.ZodType;
}

export function metaDocumentSchema({ meta }: MetaDocument): Schema {
  const links = componentRef('resource_links');
  return closedObject({ meta: toSchema(meta), links, jsonapi: componentRef('jsonapi') });
}

export function ownDocument(
  { type }: OwnDocument,
  shown: { id: number; attributes: Record<string, unknown>; self: string },
): Document {
  const { id, attributes, self } = shown;
  const links = { self };
  return { data: { type, id, attributes, links }, links, jsonapi: JSONAPI };
}

export function ownDocumentSchema({ type, attributes, onlyId }: OwnDocument): Schema {
  const links = componentRef('resource_links');
  const data = closedObject({
    type: { type: 'string', enum: [type] },
    id: onlyId === undefined ? componentRef('id') : { type: 'integer', enum: [onlyId] },
    attributes: toSchema(attributes),
    links,
  });
  return closedObject({ data, links, jsonapi: componentRef('jsonapi') });
}

function componentRef(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

function closedObject(properties: Record<string, Schema>): Schema {
  const required = Object.keys(properties);
  return { type: 'object', properties, required, additionalProperties: false };
}
