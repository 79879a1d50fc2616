import type { CommandRefusal } from '../../db/devices/report-repository.js';
import { plistToJson } from '../../protocol/apple/command-schema.js';
import type { PlistDict } from '../../protocol/plist/plist.js';
import { dictsAt } from './report-columns.js';

/** A part of an acknowledged command that the device did not carry out. */
export interface RefusedItem {
  /** Its name, as `DeviceName`. */
  item: string;
  /** Its part of the answer, with Apple's `ErrorChain`. */
  answer: PlistDict;
}

const MAX_ITEMS = 50;
const NAME_LIMIT = 200;
/** Maximum of JSON text. A chain has some hundred characters. */
const ERRORS_LIMIT = 64 * 1024;

/** What the row of the command says of them; each error has the name of its item as `Item`. */
export function refusalOf(commandId: number, refused: readonly RefusedItem[]): CommandRefusal {
  const shown = refused
    .slice(0, MAX_ITEMS)
    .map(({ item, answer }) => ({ item: item.slice(0, NAME_LIMIT), answer }));
  const errors = shown.flatMap(({ item, answer }) => {
    const chain = dictsAt(answer, 'ErrorChain') ?? [];
    return (chain.length === 0 ? [{}] : chain).map((error) => ({
      ...plistToJson(error),
      Item: item,
    }));
  });
  const isShort = JSON.stringify(errors).length <= ERRORS_LIMIT;
  return {
    id: commandId,
    reason: `the device refused ${shown.map(({ item }) => item).join(', ')}`,
    error_chain: isShort ? errors : shown.map(({ item }) => ({ Item: item })),
  };
}
