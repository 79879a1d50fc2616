import { MEDIA_TYPE } from '../../jsonapi/documents/document.js';
import type { ApiContent, Schema } from './api-route.js';

/** The document of one resource of this type, where the API document describes it. */
export function itemSchema(type: string): Schema {
  return { $ref: `#/components/schemas/${type}_document` };
}

/** The document of several resources of this type. */
export function listSchema(type: string): Schema {
  return { $ref: `#/components/schemas/${type}_list` };
}

/** What a client may write of this type: its document, or the attributes alone. */
export function writeSchema(type: string): Schema {
  return { $ref: `#/components/schemas/${type}_write` };
}

/** A JSON:API document as the content of an answer. */
export function jsonApiContent(schema: Schema, example?: unknown): ApiContent {
  return { mediaType: MEDIA_TYPE, schema, ...(example === undefined ? {} : { example }) };
}

/** A body that is taken under both media types. */
export function jsonContent(schema: Schema, example?: unknown): ApiContent[] {
  const content = jsonApiContent(schema, example);
  return [content, { ...content, mediaType: 'application/json' }];
}
