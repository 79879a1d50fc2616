import type { FilterNode } from '../../jsonapi/query/filter-node.js';
import type { Caller } from '../../jsonapi/store.js';
import type { Database } from '../connection/database.js';
import { deviceSource, ruleSql } from './rule-sql.js';

/** What a rule would decide now. */
export interface RulePreview {
  count: number;
  /** Devices of which it can't be said. */
  unknown: number;
  /** The first devices that would belong to the group. */
  examples: { id: number; name: string | null }[];
}

const EXAMPLES = 10;

/** Counts over all devices, with the limits of a list. AppError 400 if it takes too long. */
export async function previewRule(
  { lists }: Pick<Database, 'lists'>,
  nodes: FilterNode[],
  caller: Caller,
): Promise<RulePreview> {
  const { text: value, bindings } = ruleSql(nodes);
  const text = `
with decided as materialized (
  select t0.id, coalesce(t0.device_name, t0.serial_number, t0.udid, t0.enrollment_id) as name,
    ${value} as value
  from ${deviceSource(nodes)}
)
select count(*) filter (where value)::integer as count,
  count(*) filter (where value is null)::integer as unknown,
  (select coalesce(json_agg(json_build_object('id', id, 'name', name) order by id), '[]')
   from (select id, name from decided where value order by id limit ${EXAMPLES}) first) as examples
from decided`;
  const [row] = await lists.for(caller).run<RulePreview>({ text, bindings });
  return row ?? { count: 0, unknown: 0, examples: [] };
}
