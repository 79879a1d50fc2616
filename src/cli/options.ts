import { InvalidArgumentError } from 'commander';
import { AppError } from '../errors.js';

/** The command line itself is wrong: exit code 2. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UsageError';
  }
}

export function wholeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) {
    throw new InvalidArgumentError('It must be a whole number from 1.');
  }
  return value;
}

export function probability(text: string): number {
  const value = text.trim() === '' ? Number.NaN : Number(text);
  if (!(value >= 0 && value <= 1)) throw new InvalidArgumentError('It must be from 0 to 1.');
  return value;
}

/** More than 0, at most a day. */
export function seconds(text: string): number {
  const value = Number(text);
  if (!(value > 0 && value <= 86_400)) {
    throw new InvalidArgumentError('It must be a number of seconds, at most a day.');
  }
  return value;
}

export function httpUrl(text: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text;
  throw new InvalidArgumentError('It must be an http or https URL.');
}

const UNIT_MS = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The moment after a span (`90m`, `12h`, `30d`), or a date as ISO 8601. AppError 422 for other text. */
export function parseExpiry(text: string): Date {
  const [, count, unit] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  if (count !== undefined && unit !== undefined) {
    return new Date(Date.now() + Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS]);
  }
  const date = /^\d{4}-\d\d-\d\d/.test(text) ? new Date(text) : new Date(Number.NaN);
  if (Number.isNaN(date.getTime())) {
    throw new AppError('validation_failed', 422, `${text} is neither like 30d nor a date`);
  }
  return date;
}
