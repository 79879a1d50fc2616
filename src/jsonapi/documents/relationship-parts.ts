import type { Relationship } from '../definition/definition.js';
import type { UnionPart } from '../definition/unions.js';
import type { Linkage } from './document.js';
import type { Projection } from './projection.js';
import { RepeatedText } from './repeated-text.js';

/** Relationships that follow one another in a document. */
export type RelationshipPart =
  /** To-many ones without linkage, of which only the path of the resource differs. */
  | { kind: 'links'; text: RepeatedText }
  | { kind: 'relation'; name: string; relation: Relationship }
  | { kind: 'union'; name: string; parts: UnionPart[] };

const SELF = '\0';

/** The relationships of a document, as its rows have them. */
export function relationshipParts(
  { relationships, unions }: Pick<Projection, 'relationships' | 'unions'>,
  linkage: Linkage | undefined,
): RelationshipPart[] {
  const parts: RelationshipPart[] = [];
  let links = '';
  const endLinks = () => {
    if (links !== '') parts.push({ kind: 'links', text: new RepeatedText(links.split(SELF)) });
    links = '';
  };
  for (const [name, relation] of relationships) {
    if (relation.kind === 'toMany' && !linkage?.has(name)) {
      links += `,"${name}":{"links":{"self":"${SELF}/relationships/${name}","related":"${SELF}/${name}"}}`;
    } else {
      endLinks();
      parts.push({ kind: 'relation', name, relation });
    }
  }
  endLinks();
  for (const [name, union] of unions) parts.push({ kind: 'union', name, parts: union });
  return parts;
}
