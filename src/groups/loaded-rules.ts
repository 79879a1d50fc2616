import type { Transaction } from '../db/connection/unit-of-work.js';
import { type CompiledRule, compileRules } from '../db/groups/rule-evaluation.js';
import { rulesVersion, storedRules } from '../db/groups/smart-group-state.js';
import type { Registry } from '../jsonapi/definition/definition.js';
import type { Logger } from '../logger.js';
import { type Rule, readRule } from './rule.js';

export interface LoadedRule extends CompiledRule {
  name: string;
  facts: ReadonlySet<string>;
}

/** Rules that one statement evaluates. */
export type Bundle = readonly LoadedRule[];

/** Rules in one statement: more take too long to plan, fewer need too many prepared statements. */
const BUNDLE = 50;

type NamedRule = Rule & { groupId: number; name: string };

/** The rules of all smart groups, as this process has compiled them. */
export class LoadedRules {
  readonly #registry: Registry;
  readonly #logger: Logger;
  #version: number | undefined;
  #bundles: Bundle[] = [];

  constructor({ registry, logger }: { registry: Registry; logger: Logger }) {
    this.#registry = registry;
    this.#logger = logger;
  }

  /**
   * All rules, read again if any has changed. Otherwise the bundles stay the same, so that their
   * statements stay prepared. A bundle has rules that mention the same facts.
   */
  async current(trx: Transaction): Promise<readonly Bundle[]> {
    const version = await rulesVersion(trx);
    if (version === this.#version) return this.#bundles;
    const named = (await storedRules(trx)).flatMap((stored) => this.#read(stored));
    named.sort((one, other) => (one.facts.join() < other.facts.join() ? -1 : 1));
    const compiled = await compileRules(trx, named);
    const rules = compiled.map((rule, index) => {
      const { name = '', facts = [] } = named[index] ?? {};
      return { ...rule, name, facts: new Set(facts) };
    });
    this.#bundles = [];
    for (let start = 0; start < rules.length; start += BUNDLE) {
      this.#bundles.push(rules.slice(start, start + BUNDLE));
    }
    this.#version = version;
    return this.#bundles;
  }

  #read({ id, name, rule }: { id: number; name: string; rule: unknown }): NamedRule[] {
    try {
      return [{ ...readRule(rule, this.#registry), groupId: id, name }];
    } catch (error) {
      const about = { err: error, groupId: id };
      const message = `smart group ${name}: the rule can't be read, its members stay; save it again`;
      this.#logger.error(about, message);
      return [];
    }
  }
}
