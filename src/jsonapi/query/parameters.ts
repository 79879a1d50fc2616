import { AppError, knownNames } from '../../errors.js';

/** AppError 400 that names the query parameter. */
export function invalidParameter(parameter: string, message: string): AppError {
  return new AppError('invalid_parameter', 400, message, { source: { parameter } });
}

/** Reads the value of the query parameter `name`. */
export type ParameterReader = (value: string, name: string) => void;

/** A parameter that an operation does not have. `known` are those that it has. */
export function unknownParameter(name: string, known: readonly string[]): AppError {
  const message = `unknown query parameter "${name}"; ${knownNames(name, known)}`;
  return invalidParameter(name, message);
}

/**
 * Reads every parameter once; only `filter[]` may be repeated. AppError 400 for unknown ones, which
 * names the known ones.
 */
export function readParameters(
  params: URLSearchParams,
  readerOf: (name: string) => ParameterReader | undefined,
  known: readonly string[],
): void {
  const names = new Set<string>();
  for (const [name, value] of params) {
    const read = readerOf(name);
    if (!read) throw unknownParameter(name, known);
    if (names.has(name) && name !== 'filter[]') {
      throw invalidParameter(name, `${name} is given twice`);
    }
    names.add(name);
    read(value, name);
  }
}

/** For operations without query parameters. */
export function refuseParameters(params: URLSearchParams): void {
  readParameters(params, () => undefined, []);
}

export const DEFAULT_PAGE_SIZE = 30;
export const MAX_PAGE_SIZE = 1000;
export const MAX_PAGE_NUMBER = 1_000_000_000;

export interface Page {
  number: number;
  size: number;
}

/** A whole number from 1 to `max`, else AppError 400. */
export function parsePageNumber(parameter: string, value: string, max: number): number {
  const number = /^\d{1,12}$/.test(value) ? Number(value) : 0;
  if (number >= 1 && number <= max) return number;
  throw invalidParameter(parameter, `${parameter} must be a whole number from 1 to ${max}`);
}
