import type { Knex } from 'knex';

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

/** Appends one line; `at` is the transaction's time. Rejects with the driver's error. */
export async function insertAuditRow(trx: AuditTransaction, row: AuditRow): Promise<void> {
  const details = row.details === null ? null : JSON.stringify(row.details);
  await trx('audit_events').insert({ ...row, details });
}
