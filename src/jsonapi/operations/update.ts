import { notFound } from '../../errors.js';
import type { Transaction } from '../context.js';
import type { ResourceDefinition, WriteInput, WriteResult } from '../definition/definition.js';
import type { ApiContext, ApiRequest, WriteHandler } from '../handler.js';
import { parseDeleteQuery } from '../query/query.js';
import { lockTarget } from '../requests/entity-tag.js';
import { readUpdate } from '../requests/input.js';
import { repeatedFaults } from '../requests/repeated-links.js';
import type { Row } from '../store.js';
import { changeColumns, changesOf, columnsOf, flagDetails, linkChanges } from './changes.js';
import { itemContent, readWriteQuery } from './item.js';
import { replaceLinks } from './relate.js';
import { requireValid } from './related-check.js';

export function updateHandler(definition: ResourceDefinition): WriteHandler {
  return (api, request) => {
    const { id } = request;
    const query = readWriteQuery(api, request, { definition, flags: definition.writeFlags });
    const { flags } = query;
    const parsed = readUpdate(request.body, { definition, id });
    return async (trx) => {
      const before = await lockRow(api, trx, { definition, request });
      const faults = await repeatedFaults(api, trx, { definition, id, ...parsed });
      const whole = { ...parsed, faults: [...parsed.faults, ...faults] };
      const input = await requireValid(api, trx, { ...request, definition, parsed: whole });
      const { meta } = await update(api, trx, { definition, request, before, input, flags });
      const content = await itemContent(api, definition, { id, query, trx, meta });
      return { status: 200, ...content };
    };
  };
}

/** Locks the row that a write changes; returns its audited columns. */
export function lockRow(
  api: ApiContext,
  trx: Transaction,
  { definition, request }: { definition: ResourceDefinition; request: ApiRequest },
): Promise<Row> {
  const columns = changeColumns(definition);
  return lockTarget(api, trx, { ...request, definition, columns });
}

interface Updating {
  definition: ResourceDefinition;
  request: ApiRequest;
  /** The row as `lockRow` read it. */
  before: Row;
  input: WriteInput;
  flags?: ReadonlySet<string>;
}

const NO_FLAGS: ReadonlySet<string> = new Set();

/** Changes the row that the caller has locked, and writes the audit event. */
export async function update(
  api: ApiContext,
  trx: Transaction,
  { definition, request, before, input, flags = NO_FLAGS }: Updating,
): Promise<WriteResult> {
  const { store, services } = api;
  const { context, id } = request;
  const operation = { ...input, flags, id, shape: definition, trx, store, services, context };
  const result = await (definition.operations?.update?.(operation) ??
    updateRow(api, trx, { definition, id, input }));
  const links = await replaceLinks(api, { definition, trx, context, id }, input.toMany);
  const columns = changeColumns(definition);
  const after = (await store.find(trx, { shape: definition, id, columns })) ?? null;
  const own = changesOf(definition, { services, before, after, input });
  await api.audit(trx, {
    context,
    action: `${definition.type}.update`,
    targetType: definition.type,
    targetId: id,
    outcome: 'success',
    changes: { ...own, ...linkChanges(links) },
    details: { ...flagDetails(flags), ...result.audit },
  });
  return result;
}

async function updateRow(
  { store }: ApiContext,
  trx: Transaction,
  { definition, id, input }: { definition: ResourceDefinition; id: number; input: WriteInput },
): Promise<WriteResult> {
  const values = columnsOf(definition, input);
  if (await store.update(trx, { shape: definition, id, values })) return { id };
  throw notFound(`${definition.type} ${id}`);
}

export function deleteHandler(definition: ResourceDefinition): WriteHandler {
  return (api, request) => {
    const flags = parseDeleteQuery(request.query, definition);
    return async (trx) => {
      const before = await lockRow(api, trx, { definition, request });
      await remove(api, trx, { definition, request, before, flags });
      return { status: 204 };
    };
  };
}

async function remove(
  { store, services, audit }: ApiContext,
  trx: Transaction,
  { definition, request, before, flags }: Omit<Required<Updating>, 'input'>,
): Promise<void> {
  const { context, id } = request;
  const changes = changesOf(definition, { services, before, after: null });
  const details = flagDetails(flags);
  if (definition.operations?.delete) {
    const operation = { id, flags, shape: definition, trx, store, services, context, details };
    await definition.operations.delete(operation);
  } else if (!(await store.remove(trx, { shape: definition, id }))) {
    throw notFound(`${definition.type} ${id}`);
  }
  await audit(trx, {
    context,
    action: `${definition.type}.delete`,
    targetType: definition.type,
    targetId: id,
    outcome: 'success',
    changes,
    details,
  });
}
