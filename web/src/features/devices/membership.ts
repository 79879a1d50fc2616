import { findingName } from '../../text/findings.js';

interface Membership {
  name: string;
  op: string;
  value: string;
}

/**
 * Names of tags are unique and stand for themselves. Groups may share a name: the value is the id,
 * followed by the name for people. An application goes by its name or its bundle identifier, a finding by its code.
 */
export function membershipRule({ name, op, value }: Membership): Record<string, unknown> {
  const rule =
    name === 'findings' ? equals(name, value) : { name, op: 'any', val: innerRule(name, value) };
  return op === 'has' ? rule : { not: rule };
}

function innerRule(name: string, value: string): Record<string, unknown> {
  if (name === 'tags') return equals('name', value);
  if (name === 'device_groups') return equals('id', Number.parseInt(value, 10) || 0);
  return { or: [equals('name', value), equals('bundle_identifier', value)] };
}

function equals(name: string, val: string | number) {
  return { name, op: 'eq', val };
}

export function membershipName({ name, value }: Pick<Membership, 'name' | 'value'>): string {
  if (name === 'findings') return findingName(value);
  return name === 'device_groups' ? value.replace(/^\d+ /, '') : value;
}
