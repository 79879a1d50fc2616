import type { FilterNode } from '../../jsonapi/query/filter-node.js';
import { ENROLLMENT_IDENTIFIER } from '../admin/settings-repository.js';
import { lacksValueSql } from '../assignments/profile-values-sql.js';
import { runPrepared } from '../connection/prepared-statements.js';
import type { Sql } from '../connection/statement-runner.js';
import type { Transaction } from '../connection/unit-of-work.js';
import { ELIGIBILITY_COLUMNS, type EligibilityFacts } from '../devices/device-repository.js';
import { newest } from '../devices/device-secrets.js';
import { allOf, filterSql } from '../store/filter-sql.js';

/** The devices that a batch is for: those named by any of the lists that also match the filter. */
export interface TargetSelection {
  deviceIds: readonly number[];
  tagIds: readonly number[];
  groupIds: readonly number[];
  /** Rules of a filter of devices; empty: no condition. */
  nodes: readonly FilterNode[];
}

/** Instead of a selection: the devices, and users, whose command of another batch failed. */
export interface FailedOf {
  failedOf: number;
}

/** Facts that decide whether devices get the command, and in which form. */
export interface BatchFacts extends Omit<EligibilityFacts, 'id'> {
  enrollment_state: string | null;
  /** Whether an enrolled user exists; null if the command does not need one. */
  has_user: boolean | null;
  /** The secret that the command needs is escrowed; null if it needs none. */
  has_secret: boolean | null;
  /** Lacks a value of a variable. */
  lacks_values: boolean | null;
  /** The profile to be removed is the one that the device enrolled with; null where none is removed. */
  enrolled_with: boolean | null;
  /** A command that changes the secret which the command needs has no answer yet; null if it needs none. */
  has_waiting_change: boolean | null;
}

/** Devices of equal facts. */
export interface FactGroup extends BatchFacts {
  count: number;
  /** Ids of some of them. */
  examples: number[];
}

/** Which facts matter to the command. */
export interface FactNeeds {
  users: boolean;
  /** Kind of the escrowed secret that the command is completed with. */
  secret?: 'unlock_token' | 'filevault_recovery_key' | undefined;
  variables: readonly string[];
  /** Identifier of the profile that the command removes. */
  removedProfile?: string | undefined;
  /** The request type whose waiting commands change the secret that the command needs. */
  waitingChange?: string | undefined;
  /** A text of `devices as t0` that distinguishes further facts. */
  further?: Sql;
}

export const NO_NEEDS: FactNeeds = { users: false, variables: [] };

const EXAMPLES = 10;

/** The columns of BatchFacts. */
export const factNames = [
  ...['enrollment_state', ...ELIGIBILITY_COLUMNS],
  ...['has_user', 'has_secret', 'lacks_values', 'enrolled_with', 'has_waiting_change'],
  'further',
].join(', ');

const ENROLLED_WITH = `(lower(?) = ${ENROLLMENT_IDENTIFIER} or exists (
    select from installed_profiles l join installed_payloads y on y.installed_profile_id = l.id
    where l.device_id = t0.id and lower(l.payload_identifier) = lower(?) and y.payload_type = 'com.apple.mdm'))`;

const HAS_WAITING_CHANGE = `(exists (
    select from commands w where w.device_id = t0.id and w.is_pending and w.request_type = ?)
  or t0.id in (select w.device_id from commands w where w.needs_handling and w.request_type = ?))`;

/** Columns of BatchFacts for `devices as t0`. */
export function factSql(needs: FactNeeds): Sql {
  const { users, secret, variables, removedProfile, waitingChange, further } = needs;
  const hasUser = `exists (select from device_users u where u.device_id = t0.id and u.is_enrolled)`;
  const escrowed = `exists (select from (${newest({ device: 't0.id', kind: `'${secret}'` })}) k
    where octet_length(k.sealed) > 0)`;
  const lacks = lacksValueSql('t0', variables);
  const columns = [
    ...['t0.id', 't0.enrollment_state', ...ELIGIBILITY_COLUMNS.map((name) => `t0.${name}`)],
    `${users ? hasUser : 'null::boolean'} as has_user`,
    `${secret === undefined ? 'null::boolean' : escrowed} as has_secret`,
    `${variables.length > 0 ? lacks.text : 'null::boolean'} as lacks_values`,
    `${removedProfile === undefined ? 'null::boolean' : ENROLLED_WITH} as enrolled_with`,
    `${waitingChange === undefined ? 'null::boolean' : HAS_WAITING_CHANGE} as has_waiting_change`,
    `${further?.text ?? 'null::text'} as further`,
  ];
  const removed = removedProfile === undefined ? [] : [removedProfile, removedProfile];
  const changing = waitingChange === undefined ? [] : [waitingChange, waitingChange];
  const bindings = [...lacks.bindings, ...removed, ...changing, ...(further?.bindings ?? [])];
  return { text: columns.join(', '), bindings };
}

const NAMED = `
select unnest(?::bigint[]) union all
select device_id from device_tags where tag_id = any(?::bigint[]) union all
select device_id from device_group_devices where device_group_id = any(?::bigint[])`;

function selectionSql({ deviceIds, tagIds, groupIds, nodes }: TargetSelection): Sql {
  const isNamed = deviceIds.length + tagIds.length + groupIds.length > 0;
  const named: Sql[] = isNamed
    ? // An array, whose order the index is read in: with `in`, 100,000 devices take twice the time.
      [
        {
          text: `t0.id = any(array(${NAMED}))`,
          bindings: [[...deviceIds], [...tagIds], [...groupIds]],
        },
      ]
    : [];
  return allOf([...named, ...nodes.map((node) => filterSql(node))]);
}

/** The targets: the facts of the device, and `device_user_id` of the user that a command is for. */
function targetsSql(selection: TargetSelection | FailedOf, needs: FactNeeds): Sql {
  const facts = factSql(needs);
  if (!('failedOf' in selection)) {
    const where = selectionSql(selection);
    return {
      text: `select ${facts.text}, null::bigint as device_user_id from devices t0 where ${where.text}`,
      bindings: [...facts.bindings, ...where.bindings],
    };
  }
  return {
    text: `select ${facts.text}, c.device_user_id
      from commands c join devices t0 on t0.id = c.device_id
      where c.command_batch_id = ? and c.status in ('Error', 'CommandFormatError', 'Expired')`,
    bindings: [...facts.bindings, selection.failedOf],
  };
}

/** Cuts the targets into slices of `size` devices. */
const storedSql = (size: number) => `, stored as (
  insert into command_batch_slices (command_batch_id, number, size, device_ids, device_user_ids)
  select ?, number, ${size}, array_agg(id),
    case when count(device_user_id) > 0 then array_agg(device_user_id) end
  from (
    select id, device_user_id, (row_number() over () - 1) / ${size} as number
    from (select id, device_user_id from target order by id, device_user_id) ordered
  ) numbered
  group by number
)`;

/** For a hundred thousand targets without a file. */
const MEMORY = `set local work_mem = '64MB'`;

/**
 * Counts the targets by their facts. With a batch it also cuts them into slices, which are the work of that
 * batch: the very devices that are counted.
 */
export async function countTargets(
  trx: Transaction,
  selection: TargetSelection | FailedOf,
  { needs, batch }: { needs: FactNeeds; batch?: { id: number; sliceSize: number } | undefined },
): Promise<FactGroup[]> {
  const targets = targetsSql(selection, needs);
  // A device with several users is there several times.
  const ids = 'failedOf' in selection ? 'array_agg(distinct id)' : 'array_agg(id)';
  await trx.raw(MEMORY);
  return await runPrepared<FactGroup>(trx, {
    text: `
with target as materialized (
  ${targets.text}
)${batch === undefined ? '' : storedSql(batch.sliceSize)}
select ${factNames}, cardinality(ids) as count,
  array(select id from unnest(ids) as i (id) order by id limit ${EXAMPLES}) as examples
from (select ${factNames}, ${ids} as ids from target group by ${factNames}) counted`,
    bindings: [...targets.bindings, ...(batch === undefined ? [] : [batch.id])],
  });
}

/** The ids of the targets' devices. */
export async function listTargets(
  trx: Transaction,
  selection: TargetSelection | FailedOf,
): Promise<number[]> {
  const { text, bindings } = targetsSql(selection, NO_NEEDS);
  const [row] = await runPrepared<{ ids: number[] }>(trx, {
    text: `select coalesce(array_agg(distinct id), '{}') as ids from (${text}) target`,
    bindings,
  });
  return row?.ids ?? [];
}
