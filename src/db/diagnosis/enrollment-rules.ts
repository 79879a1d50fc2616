import { type FindingRule, interval } from './finding-rule.js';

const RENEWAL = 'left join identity_renewals r on r.device_id = s.id';
const IDENTITY_FACTS = `'not_after', s.not_after, 'is_renewing', r.device_id is not null,
      'renewal_problem', left(r.problem, 300), 'command_id', r.command_id`;
const ACCEPTED_UNTIL = `s.not_after + ${interval('grace')}`;
/** Renewals begin when a third of the life is left; this is when they should be done. */
const EXPIRES_SOON = `s.not_after - least(interval '30 days', (s.not_after - s.issued_at) / 6)`;

/** How long a replacement by an unproven enrollment is shown. */
const REPLACED_FOR = `interval '7 days'`;

/** Whether the device is enrolled as it should be. */
export const ENROLLMENT_RULES: FindingRule[] = [
  {
    code: 'enrollment_incomplete',
    severity: 'stuck',
    where: `s.enrollment_state = 'authenticated'`,
    from: `s.authenticated_at + ${interval('setup')}`,
    since: 's.authenticated_at',
  },
  {
    code: 'unenrolled',
    severity: 'info',
    where: `s.enrollment_state = 'unenrolled'`,
    since: 's.unenrolled_at',
  },
  {
    // The device cannot say that its enrollment has ended: nothing is left on it that could.
    code: 'erased',
    severity: 'attention',
    joins: `cross join lateral (
      select c.id, c.acknowledged_at from commands c
      where c.device_id = s.id and c.request_type = 'EraseDevice' and c.status = 'Acknowledged'
      order by c.id desc limit 1) c`,
    where: 's.is_enrolled and c.acknowledged_at >= s.enrolled_at',
    since: 'c.acknowledged_at',
    facts: `'command_id', c.id`,
  },
  {
    code: 'setup_stuck',
    severity: 'stuck',
    joins: `left join lateral (
      select u.state, u.started_at, u.reason, c.id as command_id, c.is_pending
      from device_setups u left join commands c on c.id = u.command_id
      where u.device_id = s.id and u.enrollment_number = s.enrollment_number) u on true`,
    where: 's.is_enrolled and s.awaiting_configuration',
    from: `case when u.state = 'failed' then '-infinity'::timestamptz
      else coalesce(u.started_at, s.enrolled_at) + ${interval('setup')} end`,
    since: 'coalesce(u.started_at, s.enrolled_at)',
    facts: `'reason', left(u.reason, 300), 'command_id', u.command_id,
      'is_pending', coalesce(u.is_pending, false), 'last_seen', s.last_seen`,
  },
  {
    code: 'enrollment_replaced',
    severity: 'attention',
    where: `s.is_enrolled and s.proven_serial is null
    and s.enrollment_replaced_at >= s.enrolled_at - interval '1 hour'`,
    until: `s.enrollment_replaced_at + ${REPLACED_FOR}`,
    since: 's.enrollment_replaced_at',
    facts: `'until', s.enrollment_replaced_at + ${REPLACED_FOR}`,
  },
  {
    code: 'enrollment_held',
    severity: 'attention',
    joins: `cross join lateral (
      select r.id, r.held_at, r.last_attempt_at, r.attempts, r.expires_at
      from enrollment_requests r
      where r.device_id = s.id and r.held_at is not null and r.approved_at is null
        and r.enrolled_at is null and r.expires_at > now()
      order by r.expires_at desc limit 1) r`,
    where: 'true',
    until: 'r.expires_at',
    since: 'r.held_at',
    facts: `'request_id', r.id, 'attempts', r.attempts, 'last_attempt_at', r.last_attempt_at,
      'expires_at', r.expires_at`,
  },
  {
    code: 'identity_expires_soon',
    severity: 'attention',
    joins: RENEWAL,
    where: 's.is_enrolled and s.not_after is not null',
    from: EXPIRES_SOON,
    until: 's.not_after',
    since: EXPIRES_SOON,
    facts: IDENTITY_FACTS,
  },
  {
    code: 'identity_expired',
    severity: 'attention',
    joins: RENEWAL,
    where: 's.is_enrolled and s.not_after is not null',
    from: 's.not_after',
    until: ACCEPTED_UNTIL,
    since: 's.not_after',
    facts: `${IDENTITY_FACTS}, 'accepted_until', ${ACCEPTED_UNTIL}`,
  },
  {
    code: 'identity_refused',
    severity: 'stuck',
    joins: RENEWAL,
    where: 's.is_enrolled and s.not_after is not null',
    from: ACCEPTED_UNTIL,
    since: ACCEPTED_UNTIL,
    facts: IDENTITY_FACTS,
  },
  {
    code: 'dep_profile_differs',
    severity: 'attention',
    joins: `cross join lateral (
      select r.dep_account_id, r.profile_uuid, r.last_error, r.last_error_at, p.uuid, p.profile_name,
        p.status, p.status_text
      from dep_profiles p
      join dep_devices r on r.device_id = s.id and r.dep_account_id = p.dep_account_id
      where p.id = s.dep_profile_id and r.removed_at is null
        and r.profile_uuid is distinct from p.uuid::text
        and (r.assignment_due_at is null or r.last_error is not null or p.status = 'failed')
      limit 1) r`,
    where: 'true',
    since: 'r.last_error_at',
    facts: `'dep_account_id', r.dep_account_id, 'profile_name', r.profile_name, 'wanted', r.uuid,
      'present', r.profile_uuid, 'problem', left(coalesce(r.last_error, r.status_text), 300)`,
  },
];
