import type { Registry } from '../../../jsonapi/definition/definition.js';
import type { Endpoint, Method, Route } from '../../../jsonapi/operations/endpoints.js';
import type { Schema } from '../../routing/api-route.js';
import { collectionOperation, type OperationPlace } from './collection-operations.js';
import { itemOperation } from './item-operations.js';
import { type OperationText, operationObject } from './operation.js';
import { relationshipOperation } from './relationship-operations.js';
import { type RouteSubject, subjectOf } from './route-subject.js';

/** The Path Item Object of a route that follows from a definition. */
export function crudPathItem({ path, methods }: Route, registry: Registry): Schema {
  const subject = subjectOf(path, registry);
  const entries = Object.entries(methods) as [Method, Endpoint][];
  const operations = entries.map(([method, { role }]) => {
    const text = operationText(subject, { method, role, registry });
    return [method.toLowerCase(), operationObject(text)] as const;
  });
  return Object.fromEntries(operations);
}

function operationText(subject: RouteSubject, place: OperationPlace): OperationText {
  switch (subject.kind) {
    case 'collection':
      return collectionOperation(subject, place);
    case 'item':
      return itemOperation(subject, place);
    case 'relationship':
      return relationshipOperation(subject, place);
  }
}
