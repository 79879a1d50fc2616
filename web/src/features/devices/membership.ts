interface Membership {
  name: string;
  op: string;
  value: string;
}

/**
 * Names of tags are unique and stand for themselves. Groups may share a name: the value is the id,
 * followed by the name for people.
 */
export function membershipRule({ name, op, value }: Membership): Record<string, unknown> {
  const inner =
    name === 'tags'
      ? { name: 'name', op: 'eq', val: value }
      : { name: 'id', op: 'eq', val: Number.parseInt(value, 10) || 0 };
  const rule = { name, op: 'any', val: inner };
  return op === 'has' ? rule : { not: rule };
}

export function membershipName({ name, value }: Pick<Membership, 'name' | 'value'>): string {
  return name === 'tags' ? value : value.replace(/^\d+ /, '');
}
