import { z } from 'zod';
import { retryItems } from '../../db/assignments/item-repository.js';
import type { Transaction } from '../../db/connection/unit-of-work.js';
import { AppError, notFound } from '../../errors.js';
import type { RequestContext } from '../../jsonapi/context.js';
import type { ApiContext } from '../../jsonapi/handler.js';
import { parseFilter } from '../../jsonapi/query/filter.js';
import type { FilterNode } from '../../jsonapi/query/filter-node.js';
import { deviceItems } from '../../resources/assignments/device-items.js';
import { action } from '../action.js';
import type { ApiRoute } from '../api-route.js';

export interface ItemRetryDeps {
  api: ApiContext;
}

const TYPE = 'device_items';
const PAGE = 1_000;
/** Maximum items per request, so that its transaction takes seconds. */
const MAX_RETRIED = 100_000;

const RETRIES = {
  type: 'item_retries',
  onlyId: 1,
  attributes: z.strictObject({
    retried: z.int().min(0).describe('How many items are tried again.'),
    has_more: z
      .boolean()
      .describe(`Whether more match: one request retries ${MAX_RETRIED} at most. Repeat it.`),
  }),
};

/** Tries failed items again at once, without waiting for a change. */
export function itemRetryRoutes({ api }: ItemRetryDeps): ApiRoute[] {
  const one = action(api, {
    method: 'POST',
    path: `/${TYPE}/{id}/retry`,
    operationId: 'retryDeviceItem',
    tag: TYPE,
    role: 'operator',
    summary: 'Try a failed item again',
    description:
      'Of an item that has failed, or waits for its next attempt. 409 `conflict` for others.',
    answer: { status: 200, description: 'The item.', shows: TYPE },
    audit: { action: `${TYPE}.retry`, targetType: TYPE },
    run: async (trx, { id }) => {
      const row = await api.store.find(trx, { shape: deviceItems, id, columns: ['state'] });
      if (row === undefined) throw notFound(`${TYPE} ${id}`);
      if ((await retryItems(trx, [id])).length === 0) throw notRetried(id, String(row.state));
      return {};
    },
  });
  const many = action(api, {
    method: 'POST',
    path: `/${TYPE}/retry`,
    operationId: 'retryDeviceItems',
    tag: TYPE,
    role: 'operator',
    summary: 'Try all failed items that match a filter again',
    description:
      'The filter is that of the list, in its JSON form; without one all failed items are tried ' +
      'again. Items that match but have not failed stay as they are.',
    body: {
      attributes: z.strictObject({
        filter: z
          .array(z.record(z.string(), z.unknown()))
          .max(50)
          .optional()
          .describe('As in `GET /device_items?filter=…`.'),
      }),
      example: { filter: [{ name: 'profile', op: 'eq', val: 7 }] },
    },
    answer: { status: 200, description: 'How many.', shows: RETRIES },
    audit: { action: `${TYPE}.retry_all`, targetType: TYPE },
    run: async (trx, { body, context }) => {
      const retried = await retryMatching(api, trx, filterOf(api, body.filter, context));
      const attributes = { retried, has_more: retried >= MAX_RETRIED };
      return { attributes, details: { retried, filter: body.filter } };
    },
  });
  // The second path first: {id} would match it.
  return [many, one];
}

function notRetried(id: number, state: string): AppError {
  const detail =
    `item ${id} is ${state}: only items that have failed or wait for their next attempt are ` +
    'tried again';
  return new AppError('conflict', 409, detail);
}

function filterOf(
  { registry }: ApiContext,
  filter: readonly unknown[] | undefined,
  { actor }: RequestContext,
): FilterNode[] {
  if (filter === undefined || filter.length === 0) return [];
  const given = { parameter: 'filter', value: JSON.stringify(filter) };
  return parseFilter(given, deviceItems, { registry, actor, rules: 0 });
}

/** Page by page in the order of the ids. */
async function retryMatching(
  { store }: ApiContext,
  trx: Transaction,
  filter: FilterNode[],
): Promise<number> {
  let retried = 0;
  let last = 0;
  for (;;) {
    const beyond: FilterNode = {
      kind: 'compare',
      column: { name: 'id', kind: 'integer', ignoreCase: false },
      op: 'gt',
      value: last,
    };
    const { rows } = await store.list({
      shape: deviceItems,
      columns: ['id'],
      filter: [...filter, RETRIABLE, beyond],
      sort: [{ column: 'id', descending: false }],
      page: { number: 1, size: PAGE },
      keyset: { direction: 'after', position: null },
      totalMode: 'none',
    });
    retried += (
      await retryItems(
        trx,
        rows.map(({ id }) => id),
      )
    ).length;
    last = rows.at(-1)?.id ?? last;
    if (rows.length < PAGE || retried >= MAX_RETRIED) return retried;
  }
}

const RETRIABLE: FilterNode = {
  kind: 'or',
  nodes: [
    {
      kind: 'compare',
      column: { name: 'state', kind: 'text', ignoreCase: false },
      op: 'eq',
      value: 'failed',
    },
    {
      kind: 'not',
      node: {
        kind: 'null',
        column: { name: 'next_attempt_at', kind: 'timestamp', ignoreCase: false },
      },
    },
  ],
};
