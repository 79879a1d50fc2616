import type { Knex } from 'knex';

/** An account of Apple's enrollment program that somebody should look at. */
export interface FailingAccount {
  id: number;
  name: string | null;
  status: string;
  /** Apple's words. */
  status_text: string | null;
  status_advice: string | null;
  sync_finished_at: Date | null;
  sync_error: string | null;
}

export interface HealthQuery {
  isLabOn: boolean;
  /** Milliseconds without a whole sync that are too long; undefined: there is no clock for it. */
  staleAfter: number | undefined;
}

/** Accounts of one server of Apple's, which should have one. */
export interface DuplicateAccounts {
  ids: number[];
  name: string | null;
}

/** By the lowest of their ids. */
export async function listDuplicateAccounts(
  knex: Knex,
  { isLabOn }: Pick<HealthQuery, 'isLabOn'>,
): Promise<DuplicateAccounts[]> {
  return await knex('dep_accounts')
    .whereNotNull('server_uuid')
    .whereNotNull('consumer_key')
    .whereRaw('(? or not is_lab)', [isLabOn])
    // UUIDs come with and without dashes.
    .groupByRaw("lower(replace(server_uuid, '-', ''))")
    .havingRaw('count(*) > 1')
    .orderByRaw('min(id)')
    .select<DuplicateAccounts[]>(
      knex.raw('array_agg(id order by id) as ids'),
      knex.raw('max(server_name) as name'),
    );
}

/** Those whose token Apple does not take now, and those whose devices were not read for too long. */
export async function listFailingAccounts(
  knex: Knex,
  { isLabOn, staleAfter: patience }: HealthQuery,
): Promise<FailingAccount[]> {
  const isStale = `? and consumer_key is not null and
    coalesce(sync_finished_at, token_updated_at, created_at) < now() - ? * interval '1 ms'`;
  return await knex('dep_accounts')
    .where((either) =>
      either
        .whereNotIn('status', ['ok', 'unconfirmed'])
        .orWhereRaw(isStale, [patience !== undefined, patience ?? 0]),
    )
    .whereRaw('(? or not is_lab)', [isLabOn])
    .whereNot({ status: 'lab_off' })
    .orderBy('id')
    .select<FailingAccount[]>(
      'id',
      'status',
      'status_text',
      'status_advice',
      'sync_finished_at',
      'sync_error',
      knex.raw('coalesce(server_name, org_name) as name'),
    );
}
