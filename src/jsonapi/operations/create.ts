import { AppError } from '../../errors.js';
import type { Transaction } from '../context.js';
import {
  createFlagsOf,
  inverseOf,
  type ResourceDefinition,
  type WriteInput,
  type WriteResult,
} from '../definition/definition.js';
import { resourcePath } from '../documents/document.js';
import type { ApiContext, ApiRequest, WriteHandler } from '../handler.js';
import { type FixedByPath, parseCreate } from '../requests/input.js';
import { changeColumns, changesOf, columnsOf, flagDetails, linkChanges } from './changes.js';
import { itemContent, readWriteQuery } from './item.js';
import type { CollectionPlace, ScopeOf } from './list.js';
import { replaceLinks } from './relate.js';
import { requireValid } from './related-check.js';

/** POST to a collection; below a parent the new resource is linked to the parent. */
export function createHandler(
  definition: ResourceDefinition,
  place: CollectionPlace = {},
): WriteHandler {
  const { scopeOf } = place;
  return (api, request) => {
    const query = readWriteQuery(api, request, { definition, flags: createFlagsOf(definition) });
    const { flags } = query;
    const body = definition.adaptCreate?.(request.body) ?? request.body;
    const parsed = parseCreate(body, definition, fixedByPath(definition, place, request));
    return async (trx) => {
      if (scopeOf) await requireParent(api, trx, { scopeOf, id: request.id });
      const input = await requireValid(api, trx, { ...request, body, definition, parsed });
      const { id, meta } = await create(api, trx, {
        definition,
        request,
        input,
        flags,
        scopeOf,
      });
      const content = await itemContent(api, definition, { id, query, trx, meta });
      return { status: 201, ...content, location: resourcePath(api.basePath, definition, id) };
    };
  };
}

function fixedByPath(
  definition: ResourceDefinition,
  { scopeOf, view }: CollectionPlace,
  { id }: ApiRequest,
): FixedByPath {
  const via = scopeOf?.relation.via;
  const parent = via && 'foreignKey' in via ? inverseOf(definition, via.foreignKey) : undefined;
  return {
    attributes: view ? { [view.attribute]: view.value } : {},
    toOne: parent === undefined ? {} : { [parent]: id },
  };
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

interface Creating {
  definition: ResourceDefinition;
  request: ApiRequest;
  input: WriteInput;
  flags: ReadonlySet<string>;
  scopeOf: ScopeOf | undefined;
}

async function create(
  api: ApiContext,
  trx: Transaction,
  { definition, request, input, flags, scopeOf }: Creating,
): Promise<WriteResult> {
  const { store, services } = api;
  const { context } = request;
  const operation = { ...input, flags, shape: definition, trx, store, services, context };
  const result = (await definition.operations?.create?.(operation)) ?? {
    id: await store.insert(trx, { shape: definition, values: columnsOf(definition, input) }),
  };
  const { id } = result;
  const links = await replaceLinks(api, { definition, trx, context, id }, input.toMany);
  if (scopeOf) await linkToParent(api, trx, { scopeOf, request, id, definition });
  const columns = changeColumns(definition);
  const after = (await store.find(trx, { shape: definition, id, columns })) ?? null;
  const own = changesOf(definition, { services, before: null, after, input });
  await api.audit(trx, {
    context,
    action: `${definition.type}.create`,
    targetType: definition.type,
    targetId: id,
    outcome: 'success',
    changes: { ...own, ...linkChanges(links) },
    details: { ...flagDetails(flags), ...parentDetails(scopeOf, request), ...result.audit },
  });
  return result;
}

/** Audit details: the parent that it was created below. */
function parentDetails(scopeOf: ScopeOf | undefined, { id }: ApiRequest): Record<string, unknown> {
  return scopeOf ? { below: { type: scopeOf.parent.type, id } } : {};
}

interface LinkToParent {
  scopeOf: ScopeOf;
  request: ApiRequest;
  id: number;
  definition: ResourceDefinition;
}

async function linkToParent(
  { store }: ApiContext,
  trx: Transaction,
  { scopeOf, request, id, definition }: LinkToParent,
): Promise<void> {
  const { relation } = scopeOf;
  if ('foreignKey' in relation.via) return;
  await store.link(trx, { relation, shape: definition, id: request.id, relatedIds: [id] });
}
