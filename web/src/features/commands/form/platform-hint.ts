// Imports with extensions: tests that run in Node read this file, too.
import { commandsText } from '../../../text/commands.js';
import type { Key } from './keys.js';

const words = commandsText.form;

/** The platforms that take it, where they are not those of what it is in. */
export function platformHint({ platforms = [] }: Key): string {
  const of = (isSupervised: boolean) => {
    const names = platforms.filter(({ supervised = false }) => supervised === isSupervised);
    return names.map(({ platform }) => platform).join(', ');
  };
  const [any, supervised] = [of(false), of(true)];
  if (supervised === '') return any === '' ? '' : words.onlyOn(any);
  return any === '' ? words.onlySupervised(supervised) : words.onlyOnSome(any, supervised);
}
