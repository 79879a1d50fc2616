import type { NodeOf, TextOperator } from '../../jsonapi/query/filter-node.js';

/** A rule for a part of a text. */
export type TextRule = Pick<NodeOf<'text'>, 'op' | 'value'>;

/** Quotes a name, which comes from a definition and never from a request. */
export function quoted(name: string): string {
  return `"${name}"`;
}

/** Exactly the expression of the index. */
export function searchText(columns: readonly string[], table: string): string {
  const texts = columns.map((name) => `coalesce(${table}.${quoted(name)}, '')`);
  return `(${texts.join(' || chr(10) || ')})`;
}

const ANYTHING = '%';

const TEXT_OPERATORS: Record<TextOperator, (value: string) => [operator: string, pattern: string]> =
  {
    like: (value) => ['like', value],
    ilike: (value) => ['ilike', value],
    notlike: (value) => ['like', value],
    notilike: (value) => ['ilike', value],
    startswith: (value) => ['like', escaped(value) + ANYTHING],
    endswith: (value) => ['like', ANYTHING + escaped(value)],
    contains: (value) => ['like', ANYTHING + escaped(value) + ANYTHING],
  };

/** Operator and pattern; for a `not…` operator, those that it negates. */
export function textOperator({ op, value }: TextRule): [operator: string, pattern: string] {
  return TEXT_OPERATORS[op](value);
}

export function patternInside(value: string): string {
  return ANYTHING + escaped(value) + ANYTHING;
}

function escaped(value: string): string {
  return value.replace(/[\\%_]/g, '\\$&');
}
