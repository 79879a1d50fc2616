import type { Request } from 'express';
import { AppError } from '../../errors.js';

function invalidParameter(parameter: string, message: string): AppError {
  return new AppError('invalid_parameter', 400, message, { source: { parameter } });
}

/** AppError 400 for a parameter that means nothing here. */
export function refuseOthers({ query }: Request, known: string[]): void {
  const [other] = Object.keys(query).filter((name) => !known.includes(name));
  if (other !== undefined) throw invalidParameter(other, `${other} means nothing here`);
}

/** False when it is not given. AppError 400 when it is neither true nor false. */
export function booleanParameter({ query }: Request, name: string): boolean {
  const value = query[name];
  if (value === undefined || value === 'false') return false;
  if (value === 'true') return true;
  throw invalidParameter(name, `${name} is true or false`);
}

/** A whole number from 1, as far as a column of 32 bits goes. AppError 400 for anything else. */
export function integerParameter({ query }: Request, name: string): number | undefined {
  const value = query[name];
  if (value === undefined) return undefined;
  if (typeof value === 'string' && /^[1-9]\d{0,8}$/.test(value)) return Number(value);
  throw invalidParameter(name, `${name} is a whole number from 1`);
}
