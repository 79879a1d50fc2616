import { useQuery } from '@tanstack/react-query';
import { meQuery } from '../../../api/me';
import { commandsText } from '../../../text/commands';
import { limits } from './faults';
import { type Key, kindOf } from './keys';
import { platformHint } from './platform-hint';

const words = commandsText.form;

/** What to know before the key is filled in. */
export function useHint(key: Key, joined: readonly string[] = []): string | undefined {
  const { data: me } = useQuery(meQuery);
  const { min, max, min_items: least, max_items: most } = key;
  const sentences = [
    key.presence === 'optional' ? '' : `${words.required}.`,
    key.is_secret ? (me?.role === 'admin' ? words.secretSafe : words.secret) : '',
    key.when_left_out === undefined ? '' : words.whenLeftOut(key.when_left_out),
    kindHint(key),
    kindOf(key) === 'number' ? limits(min, max, [words.between, words.atLeast, words.atMost]) : '',
    limits(least, most, [
      commandsText.problems.items,
      commandsText.problems.itemsAtLeast,
      commandsText.problems.itemsAtMost,
    ]),
    platformHint(key),
    defaultHint(key),
    ...joined,
  ].filter((sentence) => sentence !== '');
  return sentences.length === 0 ? undefined : sentences.join(' ');
}

function kindHint(key: Key): string {
  const kind = kindOf(key);
  if (kind === 'lines') return words.lines;
  if (kind === 'data') return words.base64;
  if (kind !== 'json') return '';
  if (key.type === 'dictionary') return words.jsonObject;
  return key.type === 'array' ? words.jsonList : words.json;
}

function defaultHint(key: Key): string {
  const isTyped = kindOf(key) === 'number' || kindOf(key) === 'text';
  return isTyped && key.default !== undefined ? words.notSetDefault(String(key.default)) : '';
}
