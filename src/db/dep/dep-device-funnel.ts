import { select } from '../admin/metrics-repository.js';
import type { Database } from '../connection/database.js';

export type DepStage = 'unassigned' | 'assigned' | 'pushed' | 'contacted' | 'enrolled' | 'removed';

/** Numbers of an account's devices by how far their enrollment has come. */
export interface DepFunnel {
  /** Devices by their current stage. */
  stages: Record<DepStage, number>;
  /** Assigned here but never listed by Apple; they count in no stage. */
  notListed: number;
  /** With a current error. */
  failing: number;
  /** Whose assignment has yet to be sent to Apple, and can be. */
  assignmentDue: number;
}

type Counts = Partial<Record<DepStage, number>> | null;

interface FunnelRow {
  stages: Counts;
  unlisted: Counts;
  failing: number;
  due: number;
}

/**
 * SQL, of dep_accounts as `a`: the number of due rows that can be sent. Rows that wait for a profile
 * to be defined are usually few, so they are subtracted from all due rows.
 */
export const SENDABLE_COUNT = `(
  select count(*) from dep_devices r
  where r.dep_account_id = a.id and r.assignment_due_at is not null and r.removed_at is null
    and r.device_id is not null
) - (
  select count(*) from dep_profiles p
  join devices d on d.dep_profile_id = p.id
  join dep_devices r on r.device_id = d.id and r.dep_account_id = a.id
  where p.dep_account_id = a.id and (p.status <> 'defined' or p.uuid is null)
    and r.assignment_due_at is not null and r.removed_at is null
)`;

/** SQL, of a condition on dep_devices: counts by stage, as a JSON object. */
export function countByStage(where: string): string {
  return `(select jsonb_object_agg(stage, n) from (
    select stage, count(*) as n from dep_devices where ${where} group by stage) s)`;
}

// Each part reads a single index, or few rows.
const FUNNEL = `
select ${countByStage('dep_account_id = a.id')} as stages,
  ${countByStage('dep_account_id = a.id and listed_at is null and removed_at is null')} as unlisted,
(
  select count(*) from dep_devices
  where dep_account_id = a.id and last_error is not null and removed_at is null
) as failing, ${SENDABLE_COUNT} as due
from dep_accounts a where a.id = ?`;

export const NO_DEVICES = {
  unassigned: 0,
  assigned: 0,
  pushed: 0,
  contacted: 0,
  enrolled: 0,
  removed: 0,
};

/** Devices that Apple lists or has listed, by stage. */
export function listedStages(stages: Counts, unlisted: Counts): Record<DepStage, number> {
  const listed = { ...NO_DEVICES, ...stages };
  for (const stage of Object.keys(NO_DEVICES) as DepStage[]) {
    listed[stage] -= unlisted?.[stage] ?? 0;
  }
  return listed;
}

/** undefined for an unknown account. */
export async function readFunnel(
  { knex }: Pick<Database, 'knex'>,
  accountId: number,
): Promise<DepFunnel | undefined> {
  const { rows } = await knex.raw<{ rows: FunnelRow[] }>(FUNNEL, [accountId]);
  const [row] = rows;
  return (
    row && {
      stages: listedStages(row.stages, row.unlisted),
      notListed: Object.values(row.unlisted ?? {}).reduce((sum, count) => sum + count, 0),
      failing: row.failing,
      assignmentDue: row.due,
    }
  );
}

/** The metrics of one DEP account. */
export interface DepFigure {
  /** Id of the account. */
  account: string;
  stages: Record<DepStage, number>;
  assignmentDue: number;
  /** Seconds since the last complete sync; null before the first. */
  syncAge: number | null;
  isOk: boolean;
}

interface FigureRow extends Omit<DepFigure, 'stages'> {
  stages: Partial<DepFigure['stages']> | null;
  unlisted: Partial<DepFigure['stages']> | null;
}

// FUNNEL for all accounts.
const FIGURES = `
select a.id::text as account, ${SENDABLE_COUNT} as "assignmentDue",
  ${countByStage('dep_account_id = a.id')} as stages,
  ${countByStage('dep_account_id = a.id and listed_at is null and removed_at is null')} as unlisted,
  case when a.sync_finished_at is not null
    then greatest(0, extract(epoch from now() - a.sync_finished_at))::float8 end as "syncAge",
  a.status = 'ok' as "isOk"
from dep_accounts a
order by a.id`;

/** Rejects with the driver's error, like all metrics queries. */
export async function depFigures(db: Database): Promise<DepFigure[]> {
  const rows = await select<FigureRow>(db, FIGURES);
  return rows.map(({ stages, unlisted, ...row }) => ({
    ...row,
    stages: listedStages(stages, unlisted),
  }));
}
