import type { GroupReference } from '../db/groups/group-references.js';

/** Maximum depth: a rule may depend on a chain of this many other rules. */
export const MAX_LEVELS = 5;

/** A cycle, or too long a chain, of rules that depend on each other's groups. */
export type GraphFault = { kind: 'cycle'; path: number[] } | { kind: 'depth'; path: number[] };

/**
 * Follows each rule to the rules of the groups that it refers to. Returns the first cycle,
 * which starts and ends at the same group, or the first path that is too long.
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
  /** Length of the longest chain that begins at each group. */
  finished: Map<number, number>;
}

function follow(path: number[], walk: Walk): GraphFault | undefined {
  const here = path.at(-1) ?? 0;
  let levels = 0;
  for (const to of walk.next.get(here) ?? []) {
    const further = [...path, to];
    const at = path.indexOf(to);
    if (at >= 0) return { kind: 'cycle', path: further.slice(at) };
    // A group without a rule ends the chain.
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
