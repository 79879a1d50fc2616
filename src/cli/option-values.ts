import { InvalidArgumentError } from 'commander';

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
