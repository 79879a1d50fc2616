import type { Actor } from '../context.js';
import type { Registry } from '../definition/definition.js';

export interface QueryContext {
  registry: Registry;
  actor: Actor;
}
