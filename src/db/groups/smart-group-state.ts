import type { Knex } from 'knex';

/** ASCII of `mstg`, for this use alone. */
const EVALUATION_LOCK = 0x6d737467;

/**
 * Planning many rules again would take several times as long as evaluating them; and a plan that is kept
 * must not read whole tables because they were small when it was made.
 */
const LOCK = `
select pg_advisory_xact_lock(?),
  set_config('plan_cache_mode', 'force_generic_plan', true), set_config('jit', 'off', true),
  set_config('enable_seqscan', 'off', true)`;

/**
 * Until the transaction ends, no other evaluates rules: one with an older snapshot could otherwise
 * overwrite what a newer one stored. The rows are read by later statements, which see all that was
 * committed before. Ends with the connection.
 */
export async function lockEvaluation(trx: Knex.Transaction): Promise<void> {
  await trx.raw(LOCK, [EVALUATION_LOCK]);
}

/** Changes with every rule that is saved or deleted. */
export async function rulesVersion(knex: Knex): Promise<number> {
  const { version } = await knex('smart_group_state').first('version');
  return version;
}

export interface StoredRule {
  id: number;
  name: string;
  rule: unknown;
}

/** All smart groups, or one. */
export async function storedRules(knex: Knex, id?: number): Promise<StoredRule[]> {
  const rows = knex('device_groups').where({ kind: 'smart' }).orderBy('id');
  if (id !== undefined) rows.where({ id });
  return await rows.select('id', 'name', 'rule');
}

/** Serializes changes of rules, until the transaction ends. */
export async function lockRules(trx: Knex.Transaction): Promise<void> {
  await trx.raw('select 1 from smart_group_state for no key update');
}

const REFRESH = `
update smart_group_state set version = version + 1, shortest_age = ?::integer * interval '1 hour',
  facts = (
    select coalesce(array_agg(distinct fact), '{}') from device_groups, unnest(rule_facts) as fact)`;

/** After a change of rules: triggers read which facts matter, processes that they must read the rules. */
export async function refreshState(
  trx: Knex.Transaction,
  shortestHours: number | null,
): Promise<void> {
  await trx.raw(REFRESH, [shortestHours]);
}

/** What the rule of a group was, and how far its evaluation is. */
export interface EvaluationPlace {
  rule_number: number;
  evaluated_to: number;
  evaluated_at: Date | null;
}

export async function evaluationPlace(
  trx: Knex.Transaction,
  id: number,
): Promise<EvaluationPlace | undefined> {
  return await trx('device_groups')
    .where({ id, kind: 'smart' })
    .first('rule_number', 'evaluated_to', 'evaluated_at');
}

/** The next devices after this one, by id. */
export async function devicesAfter(
  trx: Knex.Transaction,
  after: number,
  limit: number,
): Promise<number[]> {
  return await trx('devices').where('id', '>', after).orderBy('id').limit(limit).pluck('id');
}

/** Where the evaluation of this rule has come to. False if the rule was changed or deleted meanwhile. */
export async function storePlace(
  trx: Knex.Transaction,
  rule: { id: number; rule_number: number },
  { last, count, isDone }: { last: number; count: number; isDone: boolean },
): Promise<boolean> {
  const stored = await trx('device_groups')
    .where(rule)
    .update({
      evaluated_to: last,
      evaluated_devices: trx.raw('evaluated_devices + ?', [count]),
      evaluated_at: isDone ? trx.fn.now() : undefined,
    });
  return stored > 0;
}

/** A place in the order of transactions: those that began before it, and those that have ended. */
export async function transactionBorders(knex: Knex): Promise<{ next: string; oldest: string }> {
  const text = `select pg_snapshot_xmax(s)::text as next, pg_snapshot_xmin(s)::text as oldest
    from pg_current_snapshot() s`;
  const { rows } = await knex.raw<{ rows: { next: string; oldest: string }[] }>(text);
  return rows[0] ?? { next: '0', oldest: '0' };
}
