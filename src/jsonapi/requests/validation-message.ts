import { z } from 'zod';
import { knownNames } from '../../errors.js';

type RawIssue = z.core.$ZodRawIssue;

const UNITS: Record<string, string> = { string: 'character', array: 'element' };
const KINDS: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  record: 'an object',
};

function limit(direction: 'least' | 'most', origin: string, bound: unknown): string {
  const unit = UNITS[origin];
  if (unit === undefined) return `must be at ${direction} ${bound}`;
  return `must have at ${direction} ${bound} ${unit}${bound === 1 ? '' : 's'}`;
}

/**
 * The message of a zod issue, to follow the value's name: "must have at least 1 character". For zod's
 * `error` parameter; a schema's own message takes precedence.
 */
export function validationMessage(issue: RawIssue): string {
  switch (issue.code) {
    case 'too_small':
      return limit('least', issue.origin, issue.minimum);
    case 'too_big':
      return limit('most', issue.origin, issue.maximum);
    case 'invalid_type':
      return issue.input === undefined
        ? 'is required'
        : `must be ${KINDS[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return `must be ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.join(', ')}`;
    case 'unrecognized_keys':
      return `has no member ${issue.keys.map((key) => `"${key}"`).join(', ')}${knownMembers(issue)}`;
    default:
      return 'has a wrong form';
  }
}

function knownMembers({ inst, keys }: RawIssue & { keys: string[] }): string {
  if (!(inst instanceof z.ZodObject)) return '';
  return `; ${knownNames(keys[0] ?? '', Object.keys(inst.shape))}`;
}
