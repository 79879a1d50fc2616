import type { Database } from '../connection/database.js';
import { select } from '../admin/metrics-repository.js';
import {
  CAN_BE_TOLD_COUNT,
  countByStage,
  type DepStage,
  listedStages,
} from './dep-device-funnel.js';

/** What is measured of an account of Apple's enrollment program. */
export interface ProgramFigure {
  /** Its id. */
  account: string;
  stages: Record<DepStage, number>;
  assignmentDue: number;
  /** Since its last sync came to its end; null before the first. */
  syncAge: number | null;
  isOk: boolean;
}

interface FigureRow extends Omit<ProgramFigure, 'stages'> {
  stages: Partial<ProgramFigure['stages']> | null;
  unlisted: Partial<ProgramFigure['stages']> | null;
}

// As the funnel of each account.
const FIGURES = `
select a.id::text as account, ${CAN_BE_TOLD_COUNT} as "assignmentDue",
  ${countByStage('dep_account_id = a.id')} as stages,
  ${countByStage('dep_account_id = a.id and listed_at is null and removed_at is null')} as unlisted,
  case when a.sync_finished_at is not null
    then greatest(0, extract(epoch from now() - a.sync_finished_at))::float8 end as "syncAge",
  a.status = 'ok' as "isOk"
from dep_accounts a
order by a.id`;

/** Throws the driver's error, as all that is measured. */
export async function programFigures(db: Database): Promise<ProgramFigure[]> {
  const rows = await select<FigureRow>(db, FIGURES);
  return rows.map(({ stages, unlisted, ...row }) => ({
    ...row,
    stages: listedStages(stages, unlisted),
  }));
}
