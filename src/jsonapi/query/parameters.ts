import { AppError } from '../../errors.js';

/** 400 that names the query parameter at fault. */
export function invalidParameter(parameter: string, message: string): AppError {
  return new AppError('invalid_parameter', 400, message, { source: { parameter } });
}

export const DEFAULT_PAGE_SIZE = 30;
export const MAX_PAGE_SIZE = 1000;
export const MAX_PAGE_NUMBER = 1_000_000_000;

export interface Page {
  number: number;
  size: number;
}

/** A whole number from 1 as the query string gives it. AppError 400 above `max`. */
export function parsePageNumber(parameter: string, value: string, max: number): number {
  const number = /^\d{1,12}$/.test(value) ? Number(value) : 0;
  if (number >= 1 && number <= max) return number;
  throw invalidParameter(parameter, `${parameter} must be a whole number from 1 to ${max}`);
}
