/** From good to bad. */
export const FINDING_SEVERITIES = ['ok', 'warning', 'error'] as const;

export type FindingSeverity = (typeof FINDING_SEVERITIES)[number];

/** What a check has found. */
export interface Found {
  /** Stable, for programs. */
  code: string;
  severity: FindingSeverity;
  /** One sentence with the facts. It holds no secret. */
  what: string;
  /** Why it matters; null where nothing is wrong. */
  why: string | null;
  /** The command or step that cures it; null where nothing is wrong. */
  cure: string | null;
}

export interface Finding extends Found {
  /** The check that found it. */
  check: string;
}

type Problem = Pick<Found, 'what'> & { why: string; cure: string };

export function ok(code: string, what: string): Found {
  return { code, severity: 'ok', what, why: null, cure: null };
}

/** Something that will do harm, or does some now. */
export function warning(code: string, { what, why, cure }: Problem): Found {
  return { code, severity: 'warning', what, why, cure };
}

/** A fault that keeps devices or admins from working, or endangers data. */
export function error(code: string, { what, why, cure }: Problem): Found {
  return { code, severity: 'error', what, why, cure };
}

/** The worst first; those of one severity stay in the order of the checks. */
export function worstFirst(findings: readonly Finding[]): Finding[] {
  const rank = ({ severity }: Finding) => FINDING_SEVERITIES.indexOf(severity);
  return [...findings].sort((one, other) => rank(other) - rank(one));
}

export function worstOf(findings: readonly Pick<Finding, 'severity'>[]): FindingSeverity {
  const ranks = findings.map(({ severity }) => FINDING_SEVERITIES.indexOf(severity));
  return FINDING_SEVERITIES[Math.max(0, ...ranks)] ?? 'ok';
}
