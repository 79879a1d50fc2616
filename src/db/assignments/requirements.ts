import type { Transaction } from '../connection/unit-of-work.js';

// Writers wait for each other, so that two that close a cycle together see each other.
const LOCK = 'lock table assignment_requirements in share row exclusive mode';

const LEADS_BACK = `
with recursive edge as (
  select distinct a.profile_id as item, q.profile_id as required
  from assignment_requirements q join assignments a on a.id = q.assignment_id
), reached as (
  select p.id as first, p.id as item from unnest(:profiles::bigint[]) as p (id)
  union
  select r.first, e.required from reached r join edge e on e.item = r.item
)
select r.first as id, p.identifier from reached r join profiles p on p.id = r.first
where r.item = (select profile_id from assignments where id = :assignment)
order by r.first`;

export interface RequiredItems {
  assignmentId: number;
  profileIds: readonly number[];
}

/** A profile by its id and PayloadIdentifier. */
export interface NamedProfile {
  id: number;
  identifier: string;
}

/** Waits for other transactions that add requirements, and makes later ones wait for this one. */
export async function lockRequirements(trx: Transaction): Promise<void> {
  await trx.raw(LOCK);
}

/** Those of the profiles that require the assignment's own, at once or through others, or are it. */
export async function requirementsLeadingBack(
  trx: Transaction,
  { assignmentId, profileIds }: RequiredItems,
): Promise<NamedProfile[]> {
  const bindings = { assignment: assignmentId, profiles: [...profileIds] };
  const { rows } = await trx.raw<{ rows: NamedProfile[] }>(LEADS_BACK, bindings);
  return rows;
}

/**
 * Lateral to a wanted item `w`, whose includes are `w.assignment_ids`: what it waits for, in words; null
 * when every item that they require is verified on the device.
 */
export const WAITS_FOR = `lateral (
  select string_agg(format('profile %s (%s), which %s', q.id, q.identifier,
    coalesce('is ' || q.state, 'is not assigned to the device')), '; ' order by q.id) as waits_for
  from (
    select p.id, p.identifier, (
      select i.state from device_items i
      where i.device_id = w.device_id and i.item_key = 'profile:' || lower(p.identifier)
      order by i.state = 'verified' limit 1
    ) as state
    from profiles p
    where p.id in (
      select profile_id from assignment_requirements where assignment_id = any(w.assignment_ids))
  ) q
  where q.state is distinct from 'verified'
)`;
