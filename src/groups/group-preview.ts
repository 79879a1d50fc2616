import type { Database } from '../db/connection/database.js';
import { previewRule, type RulePreview } from '../db/groups/group-preview.js';
import type { Actor } from '../jsonapi/context.js';
import type { Registry } from '../jsonapi/definition/definition.js';
import { readRule } from './rule.js';

/** Shows which devices a rule would choose, without saving it. */
export class GroupPreviews {
  readonly #db: Pick<Database, 'lists'>;

  constructor(db: Pick<Database, 'lists'>) {
    this.#db = db;
  }

  /** AppError 422 that names every fault of the rule, 400 if counting takes too long. */
  async preview(
    rule: unknown,
    { registry, actor }: { registry: Registry; actor: Actor },
  ): Promise<RulePreview> {
    const { nodes } = readRule(rule, registry, actor);
    return await previewRule(this.#db, nodes, { account: actor.name });
  }
}
