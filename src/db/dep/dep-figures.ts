import { select } from '../admin/metrics-repository.js';
import type { Database } from '../connection/database.js';
import {
  CAN_BE_TOLD_COUNT,
  countByStage,
  type DepStage,
  listedStages,
} from './dep-device-funnel.js';

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
select a.id::text as account, ${CAN_BE_TOLD_COUNT} as "assignmentDue",
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
