import type { z } from 'zod';
import { type ErrorDetail, validationError } from '../../errors.js';
import { pointer } from '../../jsonapi/requests/pointers.js';
import { validationMessage } from '../../jsonapi/requests/validation-message.js';

/** The body, or the part of it at the pointer `prefix`. AppError 422 with every fault. */
export function parseBody<T>(schema: z.ZodType<T>, given: unknown, prefix = ''): T {
  const parsed = schema.safeParse(given, { error: validationMessage });
  if (parsed.success) return parsed.data;
  throw validationError(parsed.error.issues.flatMap((issue) => faultsOf(issue, prefix)));
}

function faultsOf(issue: z.core.$ZodIssue, prefix: string): ErrorDetail[] {
  const path = issue.path.map(String);
  const subject = path.join('.') || (prefix === '' ? 'the body' : prefix.split('/').at(-1));
  if (issue.code !== 'unrecognized_keys') {
    const source = { pointer: prefix + pointer(...path) };
    return [{ detail: `${subject} ${issue.message}`, source }];
  }
  return issue.keys.map((key) => ({
    detail: `${subject} has no member "${key}"`,
    source: { pointer: prefix + pointer(...path, key) },
  }));
}
