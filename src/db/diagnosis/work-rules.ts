import { type FindingRule, interval } from './finding-rule.js';

/** As often as an item is tried. */
const MAX_FAILURES = 3;

/** The text of a device's error, as short as a sentence; one that expired has not even that. */
const ERROR_TEXT = `left(coalesce(c.error_chain -> 0 ->> 'USEnglishDescription',
        c.error_chain -> 0 ->> 'LocalizedDescription',
        case when c.status = 'Expired' then 'the device fetched it and never answered' end,
        c.status), 200)`;

/** Older failures are ignored. */
const FAILURES_COUNT_FOR = `interval '30 days'`;

/** What the device does with commands, profiles and questions. */
export const WORK_RULES: FindingRule[] = [
  {
    code: 'not_now',
    severity: 'attention',
    joins: `cross join lateral (
      select c.id, c.request_type, c.not_now_since, count(*) over () as commands
      from commands c
      where c.device_id = s.id and c.is_pending and c.not_now_since is not null
      order by c.not_now_since, c.id limit 1) c`,
    where: 's.is_enrolled',
    from: `c.not_now_since + ${interval('busy')}`,
    since: 'c.not_now_since',
    facts: `'command_id', c.id, 'request_type', c.request_type, 'commands', c.commands`,
  },
  {
    code: 'command_unanswered',
    severity: 'attention',
    // The command that waits, else one that has expired since: the device has answered nothing after it.
    joins: `cross join lateral (
      select u.*, count(*) over (partition by u.is_expired) as commands
      from (
        select c.id, c.request_type, c.attempts, c.sent_at, c.priority, false as is_expired
        from commands c
        where c.device_id = s.id and c.is_pending and c.status = 'Sent'
          and c.attempts >= ${MAX_FAILURES} and c.not_now_since is null
        union all
        select c.id, c.request_type, c.attempts, c.sent_at, c.priority, true
        from commands c
        where c.device_id = s.id and c.failed_at is not null and c.status = 'Expired'
          and c.failed_at > now() - ${FAILURES_COUNT_FOR} and c.failed_at >= s.enrolled_at
          and not exists (
            select from commands a where a.device_id = s.id and a.acknowledged_at > c.sent_at)
      ) u
      order by u.is_expired, u.priority desc, u.id limit 1) c`,
    where: 's.is_enrolled',
    until: `case when c.is_expired then c.sent_at + ${FAILURES_COUNT_FOR} end`,
    since: 'c.sent_at',
    facts: `'command_id', c.id, 'request_type', c.request_type, 'attempts', c.attempts,
      'commands', c.commands, 'is_expired', c.is_expired`,
  },
  {
    code: 'commands_failing',
    severity: 'attention',
    // The last three answers for this type were errors. Items have a separate finding.
    joins: `cross join lateral (
      select f.request_type, f.ids[1] as id, f.failures, f.last_at, f.first_at, ${ERROR_TEXT} as error
      from (
        select c.request_type, array_agg(c.id order by c.id desc) as ids, count(*) as failures,
          max(c.failed_at) as last_at, min(c.failed_at) as first_at
        from commands c
        where c.device_id = s.id and c.failed_at is not null and c.device_item_id is null
          and c.failed_at > now() - ${FAILURES_COUNT_FOR} and c.failed_at >= s.enrolled_at
        group by c.request_type having count(*) >= ${MAX_FAILURES}
      ) f join commands c on c.id = f.ids[1]
      where not exists (
        select from commands a
        where a.device_id = s.id and a.id > f.ids[${MAX_FAILURES}]
          and a.request_type = f.request_type and a.status = 'Acknowledged')
      order by f.last_at desc limit 1) c`,
    where: 's.is_enrolled',
    until: `c.last_at + ${FAILURES_COUNT_FOR}`,
    since: 'c.first_at',
    facts: `'command_id', c.id, 'request_type', c.request_type, 'failures', c.failures,
      'error', c.error, 'last_at', c.last_at`,
  },
  {
    code: 'items_failed',
    severity: 'attention',
    joins: `cross join lateral (
      select i.id, i.identifier, i.reason, i.changed_at, count(*) over () as items
      from device_items i where i.device_id = s.id and i.state = 'failed'
      order by i.changed_at, i.id limit 1) i`,
    where: 's.is_enrolled',
    since: 'i.changed_at',
    facts: `'item_id', i.id, 'identifier', i.identifier, 'reason', left(i.reason, 300),
      'items', i.items`,
  },
  {
    code: 'inventory_stale',
    severity: 'attention',
    joins: `cross join lateral (
      select greatest(s.enrolled_at, (
        select c.acknowledged_at from commands c
        where c.device_id = s.id and c.request_type = 'DeviceInformation'
          and c.status = 'Acknowledged'
        order by c.id desc limit 1)) as inventory_at) c`,
    where: 's.is_enrolled',
    from: `c.inventory_at + ${interval('stale')}`,
    since: 'c.inventory_at',
    facts: `'is_first', c.inventory_at = s.enrolled_at`,
  },
];
