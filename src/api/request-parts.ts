import type { Request, RequestHandler } from 'express';
import { z } from 'zod';
import { type ErrorDetail, knownNames, notFound } from '../errors.js';
import { parseId } from '../jsonapi/definition/values.js';
import { invalidParameter, unknownParameter } from '../jsonapi/query/parameters.js';
import { checkContentType, parseJson } from '../jsonapi/requests/negotiation.js';
import { pointer } from '../jsonapi/requests/pointers.js';
import { validationMessage } from '../jsonapi/requests/validation-message.js';

/** A body can have thousands of unknown members. */
const MAX_HINTS = 10;

/** The value of a body if it has no faults. */
export interface CheckedBody<T> {
  value: T | undefined;
  faults: ErrorDetail[];
}

/** Checks a body, or the part of it at the pointer `prefix`. */
export function checkBody<T>(schema: z.ZodType<T>, given: unknown, prefix = ''): CheckedBody<T> {
  const { data, error } = schema.safeParse(given, { error: validationMessage });
  const known = schema instanceof z.ZodObject ? Object.keys(schema.shape) : undefined;
  const issues = error?.issues ?? [];
  return { value: data, faults: issues.flatMap((issue) => faultsOf(issue, { prefix, known })) };
}

/** `known`: the members of the whole, where it is an object. */
function faultsOf(
  issue: z.core.$ZodIssue,
  { prefix, known }: { prefix: string; known: string[] | undefined },
): ErrorDetail[] {
  const path = issue.path.map(String);
  const subject = path.join('.') || (prefix === '' ? 'the body' : prefix.split('/').at(-1));
  if (issue.code !== 'unrecognized_keys') {
    const source = { pointer: prefix + pointer(...path) };
    return [{ detail: `${subject} ${issue.message}`, source }];
  }
  const names = path.length === 0 ? known : undefined;
  return issue.keys.map((key, index) => {
    const hint = names && index < MAX_HINTS ? `; ${knownNames(key, names)}` : '';
    const source = { pointer: prefix + pointer(...path, key) };
    return { detail: `${subject} has no member "${key}"${hint}`, source };
  });
}

function hasBody({ headers }: Request): boolean {
  return Number(headers['content-length'] ?? 0) > 0 || 'transfer-encoding' in headers;
}

const checkType: RequestHandler = (req, _res, next) => {
  if (hasBody(req)) checkContentType(req.headers['content-type']);
  next();
};

/** Reads a JSON body of any form into `req.body`; undefined when there is none. */
export const jsonBody: RequestHandler[] = [checkType, parseJson];

const requireType: RequestHandler = (req, _res, next) => {
  checkContentType(req.headers['content-type']);
  next();
};

// The parser would make an empty object of an empty body.
const parseAny: RequestHandler = (req, res, next) => {
  if (hasBody(req)) parseJson(req, res, next);
  else next();
};

/** As jsonBody, where there must be one: AppError 415 without a Content-Type. */
export const requiredJsonBody: RequestHandler[] = [requireType, parseAny];

/** The id `{name}` of the path; AppError 404 naming `type` when it is none. */
export function pathId({ params }: Request, name: string, type: string): number {
  const given = String(params[name]);
  const id = parseId(given);
  if (id === undefined) throw notFound(`${type} ${given}`);
  return id;
}

/** An id in a body: a number, or a string of digits as in documents. */
export const bodyId = z.union(
  [
    z.int().min(1).max(Number.MAX_SAFE_INTEGER),
    z
      .string()
      .regex(/^[1-9][0-9]{0,14}$/)
      .transform(Number),
  ],
  { error: 'must be an id, such as 7' },
);

/** AppError 400 for a parameter that is not among the known ones. */
export function refuseOthers({ query }: Request, known: readonly string[]): void {
  const [other] = Object.keys(query).filter((name) => !known.includes(name));
  if (other !== undefined) throw unknownParameter(other, known);
}

/** False when it is absent. AppError 400 when it is neither true nor false. */
export function booleanParameter({ query }: Request, name: string): boolean {
  const value = query[name];
  if (value === undefined || value === 'false') return false;
  if (value === 'true') return true;
  throw invalidParameter(name, `${name} must be true or false`);
}

/** A whole number from 1 that a 32-bit column holds. AppError 400 for anything else. */
export function integerParameter({ query }: Request, name: string): number | undefined {
  const value = query[name];
  if (value === undefined) return undefined;
  if (typeof value === 'string' && /^[1-9]\d{0,8}$/.test(value)) return Number(value);
  throw invalidParameter(name, `${name} must be a whole number from 1 to 999999999`);
}

/** For operations without query parameters: a misspelt one must not be passed over. */
export const refuseParameters: RequestHandler = (req, _res, next) => {
  refuseOthers(req, []);
  next();
};
