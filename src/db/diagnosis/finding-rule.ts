/** `stuck`: the device does not work as it should until an admin acts. */
export const SEVERITIES = ['stuck', 'attention', 'info'] as const;
export type Severity = (typeof SEVERITIES)[number];

/** Limits of the rules in milliseconds; null turns a rule off. Named parameters of their SQL. */
export interface RuleLimits {
  silent: number | null;
  busy: number | null;
  stale: number | null;
  /** Twice SETUP_TIMEOUT. */
  setup: number;
  /** IDENTITY_GRACE; 0 is none. */
  grace: number;
}

/**
 * What is wrong with a device, as SQL over its row `s` of SUBJECT. At most one row for a device. A
 * finding holds from `from` until `until`: these also say when time alone will change it.
 */
export interface FindingRule {
  code: string;
  severity: Severity;
  /** Joins after `subject s`. */
  joins?: string;
  where: string;
  /** Timestamp; always if left out. */
  from?: string;
  /** Timestamp; never if left out. */
  until?: string;
  /** When it began; null if no fact says so: then when it was first found. */
  since: string;
  /** Members of a JSON object, for the message. */
  facts?: string;
}

/** The devices of `:devices`, with what most rules read. */
export const SUBJECT = `
subject as materialized (
  select d.id, d.is_enrolled, d.enrollment_state, d.enrollment_number, d.enrolled_at,
    d.authenticated_at, d.unenrolled_at, d.last_seen, d.sealed_push is not null as has_token,
    d.push_state, d.topic, d.last_push_at, d.last_push_result, d.failed_push_count,
    d.awaiting_configuration, d.enrollment_replaced_at, d.proven_serial, d.dep_profile_id,
    i.not_after, i.created_at as issued_at
  from devices d left join lateral (
    select i.not_after, i.created_at from device_identities i
    where i.device_id = d.id and i.state = 'active'
    order by i.changed_at desc limit 1) i on true
  where d.id = any(:devices::bigint[])
)`;

/** A number of milliseconds among the parameters, as an interval. */
export function interval(name: keyof RuleLimits): string {
  return `:${name}::double precision * interval '1 ms'`;
}

/** What a rule says of the devices of SUBJECT: now, before and later. Facts cost further reads. */
export function candidateSql(rule: FindingRule, withFacts: boolean): string {
  const { code, severity, joins = '', where, from = `'-infinity'`, facts = '' } = rule;
  const { until = 'null', since } = rule;
  return `
  select s.id as device_id, '${code}' as code, '${severity}' as severity,
    (${from})::timestamptz as starts_at, (${until})::timestamptz as ends_at,
    (${since})::timestamptz as since${withFacts ? `, jsonb_build_object(${facts}) as facts` : ''}
  from subject s ${joins}
  where ${where}`;
}
