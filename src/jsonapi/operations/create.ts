import { AppError } from '../../errors.js';
import type { Transaction } from '../context.js';
import type { ResourceDefinition, WriteInput, WriteResult } from '../definition/definition.js';
import type { Answer, ApiContext, Handler } from '../handler.js';
import { extractConfirmation, performConfirmed } from '../requests/confirmation.js';
import { changeColumns, changesOf, columnsOf, linkChanges } from './changes.js';
import type { CollectionPlace, ScopeOf } from './collection-place.js';
import { createAtOnce } from './create-at-once.js';
import { auditOfCreate, type Creation, createdAnswer, readCreation } from './creation.js';
import { itemContent } from './item.js';
import { addLinks, replaceLinks } from './relate.js';
import { requireValid } from './related-check.js';

/**
 * POST to a collection; below a parent the new resource is linked to the parent. In one statement where
 * the definition can plan it, else in a transaction.
 */
export function createHandler(
  definition: ResourceDefinition,
  place: CollectionPlace = {},
): Handler {
  return async (api, given) => {
    const confirmed = extractConfirmation(given);
    const creation = readCreation(api, confirmed.request, { definition, place });
    const answer = await createAtOnce(api, creation);
    const work = (trx: Transaction) => createIn(api, trx, creation);
    return answer ?? performConfirmed(api, confirmed, work);
  };
}

async function createIn(api: ApiContext, trx: Transaction, creation: Creation): Promise<Answer> {
  const { definition, scopeOf, request, query } = creation;
  if (scopeOf) await requireParent(api, trx, { scopeOf, id: request.id });
  const furtherFaults = async (given: WriteInput) =>
    (await definition.operations?.furtherFaults?.(
      operationOf(api, trx, { ...creation, input: given }),
    )) ?? [];
  const input = await requireValid(api, trx, { ...request, ...creation, furtherFaults });
  const { id, meta } = await create(api, trx, { ...creation, input });
  const content = await itemContent(api, definition, { id, query, trx, meta });
  return createdAnswer(api, definition, { id, ...content });
}

async function requireParent(
  { store }: ApiContext,
  trx: Transaction,
  { scopeOf, id }: { scopeOf: ScopeOf; id: number },
): Promise<void> {
  const [missing] = await store.missing(trx, { shape: scopeOf.parent, ids: [id] });
  if (missing === undefined) return;
  throw new AppError('not_found', 404, `${scopeOf.parent.type} ${id} does not exist`);
}

type Creating = Creation & { input: WriteInput };

function operationOf(
  { store, services }: ApiContext,
  trx: Transaction,
  { definition, request, query, input }: Creating,
) {
  const { context } = request;
  return { ...input, flags: query.flags, shape: definition, trx, store, services, context };
}

async function create(api: ApiContext, trx: Transaction, creating: Creating): Promise<WriteResult> {
  const { definition, request, input, scopeOf } = creating;
  const { store, services } = api;
  const { context } = request;
  const operation = operationOf(api, trx, creating);
  const result = (await definition.operations?.create?.(operation)) ?? {
    id: await store.insert(trx, { shape: definition, values: columnsOf(definition, input) }),
  };
  const { id } = result;
  const links = await replaceLinks(api, { definition, trx, context, id }, input.toMany);
  if (scopeOf) await linkToParent(api, trx, { ...creating, scopeOf, id });
  const columns = changeColumns(definition);
  const after = (await store.find(trx, { shape: definition, id, columns })) ?? null;
  const own = changesOf(definition, { services, before: null, after, input });
  const changes = { ...own, ...linkChanges(links) };
  const event = auditOfCreate(creating, { changes, details: result.audit });
  await api.audit(trx, { ...event, targetId: id });
  return result;
}

async function linkToParent(
  api: ApiContext,
  trx: Transaction,
  { scopeOf, request, id }: Creating & { scopeOf: ScopeOf; id: number },
): Promise<void> {
  const { relation, parent } = scopeOf;
  if ('foreignKey' in relation.via) return;
  const owner = { definition: parent, trx, context: request.context, id: request.id };
  await addLinks(api, owner, { relation, relatedIds: [id], at: '' });
}
