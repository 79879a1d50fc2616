import type { SearchedTexts } from '../definition/shape.js';
import type { FilterNode } from './filter-node.js';
import { invalidParameter } from './parameters.js';

/** The name of a rule that searches several texts of a resource at once. */
export const SEARCH = 'search';

/** Trigrams: a shorter text is found by no index. */
const LEAST = 3;
const MOST = 100;

/** AppError 400 unless the value is text of 3 to 100 characters in one line. */
export function searchNode(
  texts: SearchedTexts,
  { value, op, parameter }: { value: unknown; op: unknown; parameter: string },
): FilterNode {
  if (op !== 'eq' && op !== 'contains') {
    throw invalidParameter(parameter, '"search" takes the operator "contains"');
  }
  const text = typeof value === 'string' ? value.trim() : '';
  const length = [...text].length;
  // Texts are searched as one, a line each.
  if (length >= LEAST && length <= MOST && !/\p{Cc}/u.test(text)) {
    return { kind: 'search', texts, value: text };
  }
  const message = `"search" needs a text of ${LEAST} to ${MOST} characters in one line`;
  throw invalidParameter(parameter, message);
}
