import type { Knex } from 'knex';
import { runPrepared } from '../connection/prepared-statements.js';

/** The open transaction of the change that the line belongs to. */
export type AuditTransaction = Knex.Transaction;

export interface AuditRow {
  actor: string;
  role: string;
  source_address: string | null;
  action: string;
  target_type: string;
  target_id: string | null;
  request_id: string;
  outcome: string;
  details: Record<string, unknown> | null;
}

const INSERT = `
insert into audit_events (actor, role, source_address, action, target_type, target_id, request_id,
  outcome, details)
values (?, ?, ?, ?, ?, ?, ?, ?, ?)`;

/** Appends one line; `at` is the transaction's time. Rejects with the driver's error. */
export async function insertAuditRow(trx: AuditTransaction, row: AuditRow): Promise<void> {
  const bindings = [
    row.actor,
    row.role,
    row.source_address,
    row.action,
    row.target_type,
    row.target_id,
    row.request_id,
    row.outcome,
    row.details === null ? null : JSON.stringify(row.details),
  ];
  await runPrepared(trx, { text: INSERT, bindings });
}
