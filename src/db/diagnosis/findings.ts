import type { Knex } from 'knex';
import { ENROLLMENT_RULES } from './enrollment-rules.js';
import { candidateSql, type RuleLimits, type Severity, SUBJECT } from './finding-rule.js';
import { REACH_RULES } from './reach-rules.js';
import { WORK_RULES } from './work-rules.js';

/** All rules; a device has each code once at most. */
export const RULES = [...REACH_RULES, ...WORK_RULES, ...ENROLLMENT_RULES];

/** CTEs `subject` and `candidate`: what the rules say of `:devices`, now and later. */
export function candidatesSql({ withFacts }: { withFacts: boolean }): string {
  const candidates = RULES.map((rule) => candidateSql(rule, withFacts));
  return `${SUBJECT}, candidate as (${candidates.join('\n  union all')}
)`;
}

/** Whether a candidate `c` holds now. */
export const IS_FOUND = 'c.starts_at <= now() and (c.ends_at is null or c.ends_at > now())';

/** A finding with what its message is made of. */
export interface FoundRow {
  code: string;
  severity: Severity;
  since: Date;
  facts: Record<string, unknown>;
}

/** A device and all findings, as they are now. */
export interface FoundDevice {
  is_enrolled: boolean;
  findings: FoundRow[];
  now: Date;
}

const READ = `
with ${candidatesSql({ withFacts: true })}
select s.is_enrolled, now() as now, c.code, c.severity, coalesce(c.since, k.since, now()) as since, c.facts
from subject s left join candidate c on c.device_id = s.id and ${IS_FOUND}
left join device_findings k on k.device_id = c.device_id and k.code = c.code
order by c.severity = 'stuck' desc, c.severity = 'attention' desc, 5, c.code`;

type ReadRow = FoundRow & { is_enrolled: boolean; now: Date; code: string | null };

/** Applies the rules to one device now. Undefined if there is none. Rejects with the driver's error. */
export async function findFindings(
  knex: Knex,
  id: number,
  limits: RuleLimits,
): Promise<FoundDevice | undefined> {
  const { rows } = await knex.raw<{ rows: ReadRow[] }>(READ, { devices: [id], ...limits });
  const [first] = rows;
  if (first === undefined) return undefined;
  const findings = rows.flatMap(({ code, severity, since, facts }) =>
    code === null ? [] : [{ code, severity, since, facts }],
  );
  return { is_enrolled: first.is_enrolled, now: first.now, findings };
}
