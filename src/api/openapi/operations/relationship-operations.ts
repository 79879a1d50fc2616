import type { Method } from '../../../jsonapi/operations/endpoints.js';
import { linkageBodyName, linkageName, matchingBodyName } from '../schemas/linkage-schemas.js';
import { unionName } from '../schemas/resource-schemas.js';
import type { OperationPlace } from './collection-operations.js';
import { answerRef, bodyRef, type OperationText, readAnswers } from './operation.js';
import { camelCase, one, singular, words } from './operation-names.js';
import { parameterRef } from './parameters.js';
import type { RouteSubject } from './route-subject.js';

type Linkage = Extract<RouteSubject, { kind: 'relationship' }>;

const VERBS = { POST: 'add', PATCH: 'replace', DELETE: 'remove' };

const SUMMARIES: Record<Exclude<Method, 'GET'>, (name: string, owner: string) => string> = {
  POST: (name, owner) => `Add ${name} to ${owner}`,
  PATCH: (name, owner) => `Replace the ${name} of ${owner}`,
  DELETE: (name, owner) => `Remove ${name} from ${owner}`,
};

/** …/relationships/{name}. */
export function relationshipOperation(subject: Linkage, place: OperationPlace): OperationText {
  const { method } = place;
  return method === 'GET' ? readOperation(subject, place) : changeOperation(subject, place, method);
}

/** …/relationships/{name} of a union. */
export function unionOperation(
  { definition, name }: Extract<RouteSubject, { kind: 'union' }>,
  { role }: OperationPlace,
): OperationText {
  const owner = camelCase(singular(definition.type));
  return {
    operationId: `get${owner}${camelCase(name)}Relationship`,
    summary: `Get the type and id of the ${words(name)} of ${one(definition.type)}`,
    tag: definition.type,
    role,
    parameters: ['id', 'if_none_match'].map(parameterRef),
    answers: readAnswers(`${unionName(definition, name)}_linkage`),
    errors: [400, 404],
  };
}

function common({ definition, name, relation }: Linkage) {
  return {
    tag: definition.type,
    owner: camelCase(singular(definition.type)),
    below: `the ${words(name)} of ${one(definition.type)}`,
    answer: linkageName(relation),
  };
}

function readOperation(subject: Linkage, { role }: OperationPlace): OperationText {
  const { name, relation } = subject;
  const { tag, owner, below, answer } = common(subject);
  const isMany = relation.kind === 'toMany';
  const names = ['id', ...(isMany ? ['linkage_page'] : []), 'if_none_match'];
  return {
    operationId: `get${owner}${camelCase(name)}Relationship`,
    summary: isMany ? `Get the ids of ${below}` : `Get the id of ${below}`,
    tag,
    role,
    parameters: names.map(parameterRef),
    answers: readAnswers(answer),
    errors: [400, 404],
  };
}

function changeOperation(
  subject: Linkage,
  { role }: OperationPlace,
  method: Exclude<Method, 'GET'>,
): OperationText {
  const { definition, name, relation } = subject;
  const { tag, owner, below, answer } = common(subject);
  const isOne = relation.kind === 'toOne';
  const isMatching = method !== 'PATCH' && !isOne && relation.acceptsFilter === true;
  return {
    operationId: `${isOne ? 'set' : VERBS[method]}${owner}${camelCase(name)}`,
    summary: isOne ? `Set ${below}` : SUMMARIES[method](words(name), one(definition.type)),
    tag,
    role,
    parameters: ['id', 'idempotency_key', 'if_match'].map(parameterRef),
    requestBody: bodyRef(isMatching ? matchingBodyName(relation) : linkageBodyName(relation)),
    answers: isMatching
      ? { 200: answerRef(answer), 202: answerRef('links_later') }
      : { 200: answerRef(answer) },
    errors: [400, 404, 409, 412, 413, 415, 422],
  };
}
