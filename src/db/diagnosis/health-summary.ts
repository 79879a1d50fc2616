import type { Database } from '../connection/database.js';
import type { Severity } from './finding-rule.js';

/** How many devices have each finding, and each health. */
export interface HealthSummary {
  findings: { code: string; severity: Severity; count: number }[];
  health: { ok: number; attention: number; stuck: number };
}

const FINDINGS = `
select code, severity, count(*)::integer as count from device_findings
group by code, severity
order by severity = 'stuck' desc, severity = 'attention' desc, count desc, code`;

const HEALTH = `
select count(*) filter (where health = 'ok')::integer as ok,
  count(*) filter (where health = 'attention')::integer as attention,
  count(*) filter (where health = 'stuck')::integer as stuck
from device_health`;

/** Counts what the health worker keeps. Rejects with the driver's error. */
export async function readHealthSummary({ knex }: Pick<Database, 'knex'>): Promise<HealthSummary> {
  const [findings, health] = await Promise.all([
    knex.raw<{ rows: HealthSummary['findings'] }>(FINDINGS),
    knex.raw<{ rows: HealthSummary['health'][] }>(HEALTH),
  ]);
  const none = { ok: 0, attention: 0, stuck: 0 };
  return { findings: findings.rows, health: health.rows[0] ?? none };
}
