// Imports with extensions: tests that run in Node read this file, too.
import { labelOfFilter } from '../../text/device-facts.js';
import { devicesText as words } from '../../text/devices.js';
import { kindOf } from './attributes.js';
import { membershipName } from './membership.js';
import { type FilterRule, hasValue } from './search.js';

/** A filter as people read it. */
export function sentenceOf({ name, op, value }: FilterRule): string {
  const compared = hasValue(op) ? [labelOfValue(name, value)] : [];
  return [labelOfFilter(name), words.operators[op] ?? op, ...compared].join(' ');
}

export function labelOfValue(name: string, value: string): string {
  const kind = kindOf(name);
  if (kind === 'boolean') return value === 'true' ? words.yes : words.no;
  if (kind === 'membership') return membershipName({ name, value });
  return name === 'health' ? (words.health[value] ?? value) : value;
}
