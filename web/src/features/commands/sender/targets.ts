type Rule = Record<string, unknown>;

/** What the address says of the devices. */
export interface TargetSearch {
  devices?: number[] | undefined;
  rules?: string | undefined;
  tags?: number[] | undefined;
  groups?: number[] | undefined;
}

/** Whom a command is for. */
export type Target =
  | { kind: 'devices'; ids: readonly number[] }
  | { kind: 'filter'; rules: readonly Rule[] }
  | { kind: 'marks'; tags: readonly number[]; groups: readonly number[] }
  | { kind: 'invalid' };

export const ALL_ENROLLED: Rule = { name: 'is_enrolled', op: 'eq', val: true };

/** Undefined where nobody is named yet. */
export function readTarget({ devices, rules, tags, groups }: TargetSearch): Target | undefined {
  if (devices !== undefined && devices.length > 0) {
    return { kind: 'devices', ids: [...new Set(devices)] };
  }
  if (rules !== undefined) return readRules(rules);
  const marks = { tags: tags ?? [], groups: groups ?? [] };
  return marks.tags.length + marks.groups.length > 0 ? { kind: 'marks', ...marks } : undefined;
}

/** No rule means every device; a batch needs one, and takes those that are enrolled. */
function readRules(text: string): Target {
  try {
    const rules: unknown = JSON.parse(text);
    const isList = Array.isArray(rules) && rules.every(isRule);
    if (!isList) return { kind: 'invalid' };
    return { kind: 'filter', rules: rules.length > 0 ? rules : [ALL_ENROLLED] };
  } catch {
    return { kind: 'invalid' };
  }
}

function isRule(value: unknown): value is Rule {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isAll(target: Target): boolean {
  const [rule, ...others] = target.kind === 'filter' ? target.rules : [];
  return others.length === 0 && JSON.stringify(rule) === JSON.stringify(ALL_ENROLLED);
}

/** As POST /command_batches takes it. */
export function targetAttributes(target: Target) {
  switch (target.kind) {
    case 'devices':
      return { devices: linkage('devices', target.ids) };
    case 'filter':
      return { filter: [...target.rules] };
    case 'marks':
      return {
        ...(target.tags.length > 0 && { tags: linkage('tags', target.tags) }),
        ...(target.groups.length > 0 && { device_groups: linkage('device_groups', target.groups) }),
      };
    default:
      return {};
  }
}

function linkage<T extends string>(type: T, ids: readonly number[]) {
  return ids.map((id) => ({ type, id }));
}

/** The same as a filter of GET /devices. */
export function targetRules(target: Target): readonly Rule[] {
  switch (target.kind) {
    case 'devices':
      return [{ name: 'id', op: 'in', val: target.ids }];
    case 'filter':
      return target.rules;
    case 'marks': {
      const rules = [
        ...target.tags.map((id) => memberOf('tags', id)),
        ...target.groups.map((id) => memberOf('device_groups', id)),
      ];
      return rules.length === 1 ? rules : [{ or: rules }];
    }
    default:
      return [];
  }
}

function memberOf(name: string, id: number): Rule {
  return { name, op: 'any', val: { name: 'id', op: 'eq', val: id } };
}
