import type { GroupReference } from '../db/groups/group-references.js';

/** Rules may look through this many other rules. */
export const MAX_LEVELS = 5;

/** What is wrong with the rules that a group's rule leads to. */
export type GraphFault = { kind: 'cycle'; path: number[] } | { kind: 'depth'; path: number[] };

/**
 * Follows the rules from each rule to those of the groups that it looks into. Returns the first cycle,
 * its ends being the same group, or the first path that is too long.
 */
export function faultOfGraph(references: readonly GroupReference[]): GraphFault | undefined {
  const next = new Map<number, number[]>();
  for (const { from, to } of references) next.set(from, [...(next.get(from) ?? []), to]);
  const finished = new Map<number, number>();
  for (const start of next.keys()) {
    const fault = follow([start], { next, finished });
    if (fault !== undefined) return fault;
  }
  return undefined;
}

interface Walk {
  next: ReadonlyMap<number, number[]>;
  /** How many further rules each one leads to. */
  finished: Map<number, number>;
}

function follow(path: number[], walk: Walk): GraphFault | undefined {
  const here = path.at(-1) ?? 0;
  let levels = 0;
  for (const to of walk.next.get(here) ?? []) {
    const further = [...path, to];
    const at = path.indexOf(to);
    if (at >= 0) return { kind: 'cycle', path: further.slice(at) };
    // Only rules lead on: other groups have an end.
    if (!walk.next.has(to)) continue;
    if (!walk.finished.has(to)) {
      const fault = follow(further, walk);
      if (fault !== undefined) return fault;
    }
    levels = Math.max(levels, 1 + (walk.finished.get(to) ?? 0));
    if (levels >= MAX_LEVELS) return { kind: 'depth', path: further };
  }
  walk.finished.set(here, levels);
  return undefined;
}
