import { apiRules, type DevicesSearch } from '../search';

type Rule = Record<string, unknown>;

/** The devices that a change is for: these, or all that match. */
export type Target = { ids: readonly number[] } | { rules: Rule[]; count: number };

/** The API takes no filter without a rule. */
const ALL: Rule[] = [{ name: 'id', op: 'gt', val: 0 }];

export function matching(search: DevicesSearch, count: number): Target {
  const rules = apiRules(search);
  return { rules: rules.length > 0 ? rules : ALL, count };
}

export function countOf(target: Target): number {
  return 'ids' in target ? target.ids.length : target.count;
}
