import { AppError, type ErrorSource } from '../../errors.js';
import type { FilterNode } from '../query/filter-node.js';
import type { CollectionQuery } from '../query/query.js';
import { sortName } from '../store.js';

type ListQuery = Pick<CollectionQuery, 'filter' | 'sort' | 'page' | 'totalMode' | 'keyset'>;

interface Advice {
  source: ErrorSource;
  text: string;
}

/** Pages beyond are slow: the database skips row after row. */
const DEEP_ROWS = 10_000;

/** The error of a list; if it was too expensive, with advice on what the client can change. */
export function withAdvice(error: unknown, query: ListQuery): unknown {
  if (!(error instanceof AppError) || error.code !== 'query_too_expensive') return error;
  // It names what to change already.
  if (error.source !== undefined) return error;
  const all = adviceFor(query);
  const [first = ANY] = all;
  const texts = all.length > 0 ? all.map(({ text }) => text) : [ANY.text];
  const { code, status, cause } = error;
  const message = `${error.message}: ${texts.join('; ')}`;
  return new AppError(code, status, message, { source: first.source, cause });
}

const ANY: Advice = {
  source: { parameter: 'page[size]' },
  text: 'ask for a smaller page[size], or name the fields you need with fields[type]',
};

function adviceFor({ filter, sort, page, totalMode, keyset }: ListQuery): Advice[] {
  const all: Advice[] = [];
  const source = { parameter: 'filter' };
  const advise = (text: string) => all.push({ source, text });
  const texts = [...new Set(filter.flatMap(slowTexts))];
  if (texts.length > 0) {
    advise(`replace the search inside ${listed(texts)} by eq, in_ or startswith`);
  }
  const relations = filter.reduce((most, node) => Math.max(most, depthOf(node)), 0);
  if (relations > 1) advise(`filter across fewer than ${relations} relationships`);
  if (filter.length > 0) advise('add a rule that few resources match');
  if (totalMode === 'exact') {
    all.push({ source: { parameter: 'page[total]' }, text: 'leave out page[total]=exact' });
  }
  if (!keyset && page.number * page.size > DEEP_ROWS) {
    const text = 'walk the list by page[after] in place of page[number]';
    all.push({ source: { parameter: 'page[number]' }, text });
  }
  if (sort.length > 0) {
    const text = `leave out sort=${sort.map(sortName).join(',')}`;
    all.push({ source: { parameter: 'sort' }, text });
  }
  return all;
}

function listed(names: string[]): string {
  const last = names.slice(-1).join('');
  return names.length > 1 ? `${names.slice(0, -1).join(', ')} and ${last}` : last;
}

/** The attributes searched in a way that uses no index. */
function slowTexts(node: FilterNode): string[] {
  if ('nodes' in node) return node.nodes.flatMap(slowTexts);
  if ('node' in node) return slowTexts(node.node);
  return node.kind === 'text' && node.op !== 'startswith' ? [node.column.name] : [];
}

/** How deep a rule nests relationships. */
function depthOf(node: FilterNode): number {
  if ('nodes' in node) return Math.max(0, ...node.nodes.map(depthOf));
  if ('node' in node) return depthOf(node.node) + (node.kind === 'related' ? 1 : 0);
  return 0;
}
