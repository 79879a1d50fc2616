import type { Knex } from 'knex';

/** A DEP account that an admin should look at. */
export interface FailingAccount {
  id: number;
  name: string | null;
  status: string;
  /** Apple's error text. */
  status_text: string | null;
  status_advice: string | null;
  sync_finished_at: Date | null;
  sync_error: string | null;
}

export interface HealthQuery {
  isLabOn: boolean;
  /** Milliseconds without a complete sync after which an account is reported; undefined: never. */
  staleAfter: number | undefined;
}

/** Several accounts of one server at Apple, which should have one. */
export interface DuplicateAccounts {
  ids: number[];
  name: string | null;
}

/** In the order of their lowest ids. */
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

/** Accounts whose token does not work, or whose last complete sync is older than `staleAfter`. */
export async function listFailingAccounts(
  knex: Knex,
  { isLabOn, staleAfter }: HealthQuery,
): Promise<FailingAccount[]> {
  const isStale = `? and consumer_key is not null and
    coalesce(sync_finished_at, token_updated_at, created_at) < now() - ? * interval '1 ms'`;
  return await knex('dep_accounts')
    .where((either) =>
      either
        .whereNotIn('status', ['ok', 'unconfirmed'])
        .orWhereRaw(isStale, [staleAfter !== undefined, staleAfter ?? 0]),
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
