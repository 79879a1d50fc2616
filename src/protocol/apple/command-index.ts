import commands from './commands.json';
import type { SchemaItem } from './schema-types.js';

const items = commands.items as unknown as SchemaItem[];
const byRequestType = new Map(items.map((item) => [item.requestType, item]));

/** Apple's request types, in alphabetical order. */
export function requestTypes(): string[] {
  return [...byRequestType.keys()];
}

/** Apple's schema of one command; undefined when there is no such request type. */
export function commandItem(requestType: string): SchemaItem | undefined {
  return byRequestType.get(requestType);
}
