import { type Document, type Identifier, MEDIA_TYPE, type RelationshipObject } from './document.js';

/** The profile (JSON:API 1.1, "Profiles") under which every id is a string. */
export const STRING_IDS = 'urn:muster:string-ids';

export const STRING_IDS_MEDIA_TYPE = `${MEDIA_TYPE}; profile="${STRING_IDS}"`;

type Data = Document['data'];
type Resource = Identifier & { relationships?: Record<string, RelationshipObject> };

/**
 * A copy of the document with strings for the ids of resources and linkage. Everything else, such
 * as ids inside attributes and `meta`, stays as it is.
 */
export function withStringIds(document: Document): object {
  const { included } = document;
  const copy: Record<string, unknown> = { ...document, data: dataWithStringIds(document.data) };
  if (included) copy.included = included.map(resourceWithStringIds);
  return copy;
}

function dataWithStringIds(data: Data | undefined): unknown {
  if (data === null || data === undefined) return data;
  return Array.isArray(data) ? data.map(resourceWithStringIds) : resourceWithStringIds(data);
}

function resourceWithStringIds(resource: Resource): object {
  const copy: Record<string, unknown> = { ...resource };
  if (resource.id !== undefined) copy.id = String(resource.id);
  if (resource.relationships) copy.relationships = relationshipsOf(resource.relationships);
  return copy;
}

function relationshipsOf(relationships: Record<string, RelationshipObject>): object {
  const entries = Object.entries(relationships).map(([name, relationship]) => {
    if (!relationship.data) return [name, relationship];
    return [name, { ...relationship, data: dataWithStringIds(relationship.data) }];
  });
  return Object.fromEntries(entries);
}

/** The entity tag of the same document with string ids: other bytes, the same state. */
export function stringIdsTag(etag: string): string {
  return etag.replace(/"$/, '-s"');
}
