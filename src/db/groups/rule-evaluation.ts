import type { Knex } from 'knex';
import type { FilterNode } from '../../jsonapi/query/filter-node.js';
import { runPrepared } from '../connection/prepared-statements.js';
import type { Sql } from '../connection/statement-runner.js';
import { deviceSource, ruleSql, type VersionKeys, versionsIn } from './rule-sql.js';
import { dueSql } from './rule-times.js';

/** A rule as SQL, for any devices. */
export interface CompiledRule {
  groupId: number;
  nodes: FilterNode[];
  value: Sql;
  /** When its result may next change by time alone. */
  due: Sql | undefined;
}

/** Compiles rules, by the id of their group. One statement. */
export async function compileRules(
  trx: Knex.Transaction,
  rules: readonly Pick<CompiledRule, 'groupId' | 'nodes'>[],
): Promise<CompiledRule[]> {
  const keys = await versionKeys(
    trx,
    rules.flatMap(({ nodes }) => nodes.flatMap(versionsIn)),
  );
  return rules.map(({ groupId, nodes }) => ({
    groupId,
    nodes,
    value: ruleSql(nodes, keys),
    due: dueSql(nodes),
  }));
}

const KEYS = 'select v as version, version_key(v) as key from unnest(?::text[]) as v';

async function versionKeys(trx: Knex.Transaction, versions: string[]): Promise<VersionKeys> {
  const { rows } = await trx.raw<{ rows: { version: string; key: string }[] }>(KEYS, [versions]);
  return new Map(rows.map(({ version, key }) => [version, key]));
}

/** What the rules decide for one device, and what is stored of it. */
export interface DeviceResults {
  deviceId: number;
  /** In the order of the rules; null: unknown. */
  values: (boolean | null)[];
  dues: (Date | null)[];
  /** Ids of groups. */
  members: Set<number>;
  unknowns: Set<number>;
  /** Times by id of the group. */
  timers: Map<number, Date>;
}

interface ResultRow {
  id: number;
  results: string;
  dues: (Date | null)[];
  members: number[];
  unknowns: number[];
  timers: Record<string, string> | null;
}

/**
 * Arrays for each device instead of joins: PostgreSQL would have to guess how many devices and rules
 * there are, and could read the whole table of members.
 */
export function evaluationSql(rules: readonly CompiledRule[], deviceIds: readonly number[]): Sql {
  const dues = rules.map(({ due }) => due ?? { text: 'null', bindings: [] });
  const isTimed = rules.some(({ due }) => due !== undefined);
  const list = (parts: Sql[]) => parts.map(({ text }) => text).join(', ');
  const idsOf = (table: string) =>
    `array(select g.device_group_id from ${table} g where g.device_id = t0.id)`;
  const timers = `(select json_object_agg(g.device_group_id, g.due_at)
    from device_group_timers g where g.device_id = t0.id)`;
  const text = `
select t0.id, array[${list(rules.map(({ value }) => value))}]::text as results,
  ${isTimed ? `array[${list(dues)}]::timestamptz[]` : 'null'} as dues,
  ${idsOf('device_group_devices')} as members,
  ${idsOf('device_group_unknown_devices')} as unknowns,
  ${isTimed ? timers : 'null'} as timers
from ${deviceSource(rules.flatMap(({ nodes }) => nodes))} where t0.id = any(?::bigint[]) order by t0.id`;
  const bindings = [
    ...rules.flatMap(({ value }) => value.bindings),
    ...(isTimed ? dues.flatMap((due) => due.bindings) : []),
    [...deviceIds],
  ];
  return { text, bindings };
}

/** Evaluates the rules for the devices that exist, in one statement. Rejects with the driver's error. */
export async function evaluateRules(
  trx: Knex.Transaction,
  rules: readonly CompiledRule[],
  deviceIds: readonly number[],
): Promise<DeviceResults[]> {
  if (rules.length === 0 || deviceIds.length === 0) return [];
  const rows = await runPrepared<ResultRow>(trx, evaluationSql(rules, deviceIds));
  return rows.map(({ id, results, dues, members, unknowns, timers }) => ({
    deviceId: id,
    values: results.slice(1, -1).split(',').map(toValue),
    dues: dues ?? [],
    members: new Set(members),
    unknowns: new Set(unknowns),
    timers: new Map(
      Object.entries(timers ?? {}).map(([group, at]) => [Number(group), new Date(at)]),
    ),
  }));
}

function toValue(text: string): boolean | null {
  return text === 'NULL' ? null : text === 't';
}
