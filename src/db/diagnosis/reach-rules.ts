import { type FindingRule, interval } from './finding-rule.js';

const PUSH_FACTS = `'last_push_at', s.last_push_at, 'last_push_result', s.last_push_result`;

/** Refusals in a row from which on it is no accident. */
const MAX_REFUSALS = 3;

/** Whether the server can wake the device, and whether the device answers at all. */
export const REACH_RULES: FindingRule[] = [
  {
    code: 'no_push_token',
    severity: 'stuck',
    where: 's.is_enrolled and not s.has_token',
    since: 's.enrolled_at',
  },
  {
    code: 'topic_mismatch',
    severity: 'stuck',
    where: `s.is_enrolled and s.has_token and s.push_state = 'topic_mismatch'`,
    since: 'null',
    facts: `'topic', s.topic, 'stored_topics', (
      select coalesce(jsonb_agg(distinct c.push_topic), '[]') from certificates c
      where c.purpose = 'mdm.pushcert' and c.revoked_at is null and c.push_topic is not null)`,
  },
  {
    code: 'push_token_refused',
    severity: 'stuck',
    joins: `left join device_findings p on p.device_id = s.id and p.code = 'push_token_refused'`,
    where: `s.is_enrolled and s.has_token and s.push_state in ('unregistered', 'bad_token')`,
    // The first refused push: later ones, by hand, change nothing.
    since: 'least(p.since, s.last_push_at)',
    facts: `'push_state', s.push_state, ${PUSH_FACTS}`,
  },
  {
    code: 'push_failing',
    severity: 'attention',
    where: `s.is_enrolled and s.push_state = 'ok' and s.failed_push_count >= ${MAX_REFUSALS}`,
    since: 'null',
    facts: `'failed_push_count', s.failed_push_count, ${PUSH_FACTS}`,
  },
  {
    code: 'silent',
    severity: 'attention',
    where: 's.is_enrolled',
    from: `coalesce(s.last_seen, s.enrolled_at) + ${interval('silent')}`,
    since: 'coalesce(s.last_seen, s.enrolled_at)',
    facts: `'last_seen', s.last_seen, 'push_state', s.push_state, ${PUSH_FACTS},
      'waiting_commands', (
        select count(*) from commands c where c.device_id = s.id and c.is_pending)`,
  },
  {
    code: 'clock_wrong',
    severity: 'attention',
    joins: 'join device_clocks k on k.device_id = s.id',
    where: 's.is_enrolled',
    since: 'k.noticed_at',
    facts: `'offset_seconds', k.offset_seconds, 'measured_at', k.measured_at`,
  },
];
