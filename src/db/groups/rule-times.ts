import type { FilterNode, NodeOf } from '../../jsonapi/query/filter-node.js';
import type { Sql } from '../connection/statement-runner.js';
import { alias } from '../store/filter-sql.js';
import { quoted } from '../store/text-sql.js';

type Age = NodeOf<'age'>;

/** Times beyond it are of wrong clocks. */
const FARTHEST = `now() + interval '20 years'`;

/** When a relative time of the rule may next change its result; undefined if it has none. */
export function dueSql(nodes: FilterNode[]): Sql | undefined {
  const ages = nodes.flatMap(agesIn);
  if (ages.length === 0) return undefined;
  const times = ages.map(({ column }) => {
    const border = `${alias(0)}.${quoted(column.name)} + ?::integer * interval '1 hour'`;
    return `(select b from (select ${border}) as border (b) where b > now() and b < ${FARTHEST})`;
  });
  return { text: `least(${times.join(', ')})`, bindings: ages.map(({ hours }) => hours) };
}

function agesIn(node: FilterNode): Age[] {
  switch (node.kind) {
    case 'and':
    case 'or':
      return node.nodes.flatMap(agesIn);
    case 'not':
      return agesIn(node.node);
    case 'age':
      return [node];
    default:
      return [];
  }
}
