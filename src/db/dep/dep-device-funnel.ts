import { select } from '../admin/metrics-repository.js';
import type { Database } from '../connection/database.js';

export type DepStage = 'unassigned' | 'assigned' | 'pushed' | 'contacted' | 'enrolled' | 'removed';

/** How far the devices of an account have come. */
export interface DepFunnel {
  /** Each stage with the devices that are in it now. */
  stages: Record<DepStage, number>;
  /** Assigned here, and Apple has never listed them: in none of the stages. */
  notListed: number;
  /** With an error that nothing has ended yet. */
  failing: number;
  /** Of which Apple is still to be told the profile, and can be. */
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
 * SQL, of dep_accounts as `a`: rows of which Apple can be told. Those that wait for a profile to be
 * defined are few at most times, and taken from all that are due.
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

// Each part reads one index and nothing else, or few rows.
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

/** What Apple lists or has listed, by stage. */
export function listedStages(stages: Counts, unlisted: Counts): Record<DepStage, number> {
  const listed = { ...NO_DEVICES, ...stages };
  for (const stage of Object.keys(NO_DEVICES) as DepStage[]) {
    listed[stage] -= unlisted?.[stage] ?? 0;
  }
  return listed;
}

/** One statement; undefined for an account that does not exist. */
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

/** What is measured of an account of Apple's enrollment program. */
export interface DepFigure {
  /** Its id. */
  account: string;
  stages: Record<DepStage, number>;
  assignmentDue: number;
  /** Since its last sync came to its end; null before the first. */
  syncAge: number | null;
  isOk: boolean;
}

interface FigureRow extends Omit<DepFigure, 'stages'> {
  stages: Partial<DepFigure['stages']> | null;
  unlisted: Partial<DepFigure['stages']> | null;
}

// As the funnel of each account.
const FIGURES = `
select a.id::text as account, ${SENDABLE_COUNT} as "assignmentDue",
  ${countByStage('dep_account_id = a.id')} as stages,
  ${countByStage('dep_account_id = a.id and listed_at is null and removed_at is null')} as unlisted,
  case when a.sync_finished_at is not null
    then greatest(0, extract(epoch from now() - a.sync_finished_at))::float8 end as "syncAge",
  a.status = 'ok' as "isOk"
from dep_accounts a
order by a.id`;

/** Throws the driver's error, as all that is measured. */
export async function depFigures(db: Database): Promise<DepFigure[]> {
  const rows = await select<FigureRow>(db, FIGURES);
  return rows.map(({ stages, unlisted, ...row }) => ({
    ...row,
    stages: listedStages(stages, unlisted),
  }));
}
