import type { Knex } from 'knex';

/** That a credential has so many days left, or less. */
export interface NoticeKey {
  kind: string;
  /** 0 of one that is not in the database. */
  credential_id: number;
  not_after: Date;
  /** 0: it has ended. */
  days: number;
}

// Nor after one of fewer days: the clocks of several processes differ.
const INSERT = `
insert into credential_notices (kind, credential_id, not_after, days)
select q.* from unnest(:kinds::text[], :ids::bigint[], :times::timestamptz[], :days::integer[])
  as q (kind, credential_id, not_after, days)
where not exists (
  select from credential_notices n
  where n.kind = q.kind and n.credential_id = q.credential_id and n.not_after = q.not_after
    and n.days <= q.days
)
on conflict do nothing
returning kind, credential_id, not_after, days`;

/** Those that nobody has noted before; only who is told of them may speak of them. */
export async function insertNotices(
  trx: Knex.Transaction,
  notices: readonly NoticeKey[],
): Promise<NoticeKey[]> {
  if (notices.length === 0) return [];
  const { rows } = await trx.raw<{ rows: NoticeKey[] }>(INSERT, {
    kinds: notices.map(({ kind }) => kind),
    ids: notices.map(({ credential_id }) => credential_id),
    times: notices.map(({ not_after }) => not_after),
    days: notices.map(({ days }) => days),
  });
  return rows;
}
