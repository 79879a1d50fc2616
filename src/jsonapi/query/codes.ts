import { knownNames } from '../../errors.js';
import type { CodesOfRow } from '../definition/shape.js';
import type { FilterNode } from './filter-node.js';
import { invalidParameter } from './parameters.js';

interface CodesRule {
  name: string;
  op: unknown;
  value: unknown;
  parameter: string;
  /** `filter[name]=a,b`: the commas separate codes. */
  isShort: boolean;
}

/** AppError 400 unless the rule compares by `eq` with one known code, or by `in` with an array of them. */
export function codesNode(codes: CodesOfRow, rule: CodesRule): FilterNode {
  const { name, parameter } = rule;
  const values = valuesOf(rule);
  if (values === undefined) {
    throw invalidParameter(parameter, `"${name}" takes "eq" with a code, or "in" with an array`);
  }
  const unknown = values.find((value) => !codes.values.includes(value));
  if (unknown === undefined) return { kind: 'codes', codes, values };
  const message = `"${name}" has no code "${unknown}"; ${knownNames(unknown, codes.values)}`;
  throw invalidParameter(parameter, message);
}

function valuesOf({ op, value, isShort }: CodesRule): string[] | undefined {
  if (op === 'eq' && typeof value === 'string') return isShort ? value.split(',') : [value];
  if (op !== 'in' || !Array.isArray(value)) return undefined;
  return value.every((one) => typeof one === 'string') ? value : undefined;
}
