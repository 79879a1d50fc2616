import type { Knex } from 'knex';
import type { FilterNode } from '../../jsonapi/query/filter-node.js';
import { runPrepared } from '../connection/prepared-statements.js';
import { allOf, filterSql } from '../store/filter-sql.js';

/** A rule that looks into a group. */
export interface GroupReference {
  from: number;
  to: number;
}

/** The groups that rules look into, by id or by name. One statement, none if no rule does. */
export async function findReferences(
  trx: Knex.Transaction,
  rules: readonly { id: number; nodes: FilterNode[] }[],
): Promise<GroupReference[]> {
  const parts = rules.flatMap(({ id, nodes }) =>
    nodes.flatMap(lookups).map((node) => {
      const { text, bindings } = allOf([filterSql(node, 1)]);
      return {
        text: `select ?::bigint as "from", t1.id as "to" from device_groups t1 where ${text}`,
        bindings: [id, ...bindings],
      };
    }),
  );
  if (parts.length === 0) return [];
  return await runPrepared<GroupReference>(trx, {
    text: parts.map(({ text }) => text).join(' union '),
    bindings: parts.flatMap(({ bindings }) => bindings),
  });
}

/** The nodes of the rule that refer to groups. */
function lookups(node: FilterNode): FilterNode[] {
  switch (node.kind) {
    case 'and':
    case 'or':
      return node.nodes.flatMap(lookups);
    case 'not':
      return lookups(node.node);
    case 'related':
      return node.shape.type === 'device_groups' ? [node.node] : [];
    default:
      return [];
  }
}

/** The ids of groups that the rule names and that do not exist. */
export async function findMissing(
  trx: Knex.Transaction,
  nodes: readonly FilterNode[],
): Promise<number[]> {
  const ids = nodes.flatMap(lookups).flatMap(idsIn);
  if (ids.length === 0) return [];
  const text = `select i.id from unnest(?::bigint[]) as i (id)
    where not exists (select from device_groups g where g.id = i.id) order by i.id`;
  const rows = await runPrepared<{ id: number }>(trx, { text, bindings: [ids] });
  return rows.map(({ id }) => id);
}

function idsIn(node: FilterNode): number[] {
  switch (node.kind) {
    case 'and':
    case 'or':
      return node.nodes.flatMap(idsIn);
    case 'not':
      return idsIn(node.node);
    case 'compare':
      return node.column.name === 'id' && node.op === 'eq' ? [Number(node.value)] : [];
    case 'in':
      return node.column.name === 'id' ? node.values.map(Number) : [];
    default:
      return [];
  }
}
