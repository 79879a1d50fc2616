import { runPrepared } from '../connection/prepared-statements.js';
import type { Sql } from '../connection/statement-runner.js';
import type { Transaction } from '../connection/unit-of-work.js';

export type { Transaction } from '../connection/unit-of-work.js';

export interface AuditRow {
  actor: string;
  role: string;
  source_address: string | null;
  action: string;
  target_type: string;
  target_id: string | null;
  request_id: string;
  outcome: string;
  session_id: number | null;
  details: Record<string, unknown> | null;
}

const INTO = `
insert into audit_events (actor, role, source_address, action, target_type, request_id, outcome,
  session_id, details, target_id)`;

const INSERT = `${INTO}
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

const OF_CREATED = `${INTO}
select ?, ?, ?, ?, ?, ?, ?, ?::bigint, ?, created.id::text from created`;

/** Appends one line; `at` is the transaction's time. Rejects with the driver's error. */
export async function insertAuditRow(trx: Transaction, row: AuditRow): Promise<void> {
  await runPrepared(trx, { text: INSERT, bindings: [...valuesOf(row), row.target_id] });
}

/** The same in a statement whose part `created` is the new row that it is about. */
export function createdAuditRow(row: Omit<AuditRow, 'target_id'>): Sql {
  return { text: OF_CREATED, bindings: valuesOf(row) };
}

function valuesOf(row: Omit<AuditRow, 'target_id'>): unknown[] {
  return [
    row.actor,
    row.role,
    row.source_address,
    row.action,
    row.target_type,
    row.request_id,
    row.outcome,
    row.session_id,
    row.details === null ? null : JSON.stringify(row.details),
  ];
}
