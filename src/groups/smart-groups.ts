import type { Transaction } from '../db/connection/unit-of-work.js';
import { findMissing, findReferences } from '../db/groups/group-references.js';
import { lockRules, refreshState, storedRules } from '../db/groups/smart-group-state.js';
import { AppError, validationError } from '../errors.js';
import type { JobQueue } from '../jobs/job-queue.js';
import type { Actor } from '../jsonapi/context.js';
import type { Registry } from '../jsonapi/definition/definition.js';
import { EVALUATE_GROUP } from './evaluate-task.js';
import { type Rule, readRule, ruleFaults } from './rule.js';
import { faultOfGraph, MAX_LEVELS } from './rule-graph.js';

/** Each change of a fact is evaluated for the rules that mention it. */
const MAX_SMART_GROUPS = 1_000;

/** Columns of a group whose rule was saved. */
export interface RuleColumns {
  rule_facts: string[];
  rule_number: number;
  evaluated_at: null;
  evaluated_devices: number;
  evaluated_to: number;
}

export interface SmartGroupsDeps {
  registry: Registry;
  jobs: JobQueue;
}

/** Saves the rules of groups. A job then evaluates them for all devices. */
export class SmartGroups {
  readonly #deps: SmartGroupsDeps;

  constructor(deps: SmartGroupsDeps) {
    this.#deps = deps;
  }

  /** What is stored with a rule. AppError 422 that names every fault of it. */
  columnsOf(rule: unknown, { actor, number }: { actor: Actor; number: number }): RuleColumns {
    const { facts } = readRule(rule, this.#deps.registry, actor);
    const unread = { evaluated_at: null, evaluated_devices: 0, evaluated_to: 0 };
    return { rule_facts: facts, rule_number: number, ...unread };
  }

  /** After the rule of a group was stored. AppError 422 if it leads to itself, or to no group. */
  async saved(trx: Transaction, { id, number }: { id: number; number: number }): Promise<void> {
    const rules = await this.#refresh(trx);
    await assertFound(trx, rules.find((rule) => rule.id === id)?.nodes ?? []);
    const key = `${EVALUATE_GROUP.name}:${id}`;
    await this.#deps.jobs.add(trx, EVALUATE_GROUP, { id, number }, { key });
  }

  /** After rules were stored or deleted, or a group was renamed. AppError 422 as `saved`. */
  async changed(trx: Transaction): Promise<void> {
    await this.#refresh(trx);
  }

  async #refresh(trx: Transaction): Promise<NamedRule[]> {
    await lockRules(trx);
    const rules = await this.#readAll(trx);
    if (rules.length > MAX_SMART_GROUPS) {
      const detail = `there may be ${MAX_SMART_GROUPS} smart groups: delete one first`;
      throw validationError([{ detail, source: { pointer: '/data/attributes/kind' } }]);
    }
    await assertEnds(trx, rules);
    const hours = rules.flatMap(({ shortestHours }) => shortestHours ?? []);
    await refreshState(trx, hours.length > 0 ? Math.min(...hours) : null);
    return rules;
  }

  /** Before a group is deleted. AppError 409 naming a rule that looks into it. */
  async assertUnused(trx: Transaction, { id }: { id: number }): Promise<void> {
    await lockRules(trx);
    const rules = await this.#readAll(trx);
    const references = await findReferences(trx, rules);
    const users = references.flatMap(({ from, to }) => (to === id && from !== id ? [from] : []));
    const user = rules.find((rule) => users.includes(rule.id));
    if (user === undefined) return;
    const detail = `the rule of smart group ${user.name} (${user.id}) looks into the group: change it first`;
    throw new AppError('in_use', 409, detail);
  }

  async #readAll(trx: Transaction): Promise<NamedRule[]> {
    const stored = await storedRules(trx);
    return stored.flatMap(({ id, name, rule }) => {
      try {
        return [{ id, name, ...readRule(rule, this.#deps.registry) }];
      } catch {
        // A former version stored this rule. The evaluation logs it; other rules go on.
        return [];
      }
    });
  }
}

type NamedRule = Rule & { id: number; name: string };

async function assertFound(trx: Transaction, nodes: Rule['nodes']): Promise<void> {
  const missing = await findMissing(trx, nodes);
  if (missing.length > 0) throw ruleFaults(missing.map((id) => `there is no device group ${id}`));
}

async function assertEnds(trx: Transaction, rules: NamedRule[]): Promise<void> {
  const fault = faultOfGraph(await findReferences(trx, rules));
  if (fault === undefined) return;
  const names = new Map(rules.map(({ id, name }) => [id, name]));
  const path = fault.path.map((id) => `${names.get(id) ?? 'group'} (${id})`).join(' → ');
  throw ruleFaults([
    fault.kind === 'cycle'
      ? `the rule leads to itself: ${path}. Take one of these groups out of the rule before it`
      : `rules may look through ${MAX_LEVELS} others; this path is longer: ${path}`,
  ]);
}
