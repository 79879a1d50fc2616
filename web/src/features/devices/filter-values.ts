// Imports with extensions: tests that run in Node read this file, too.
import { devicesText } from '../../text/devices.js';
import { FRACTIONS, kindOf } from './attributes.js';

/** As far back as the API compares times. */
const MAX_DAYS = 3_660;

const words = devicesText.faults;

/** What is wrong with a value that is compared with an attribute; undefined for one that the API takes. */
export function faultOfValue(name: string, value: string): string | undefined {
  const kind = kindOf(name);
  if (kind !== 'time' && kind !== 'number') return undefined;
  const number = value.trim() === '' ? Number.NaN : Number(value);
  if (kind === 'time') {
    const isValid = Number.isInteger(number) && number >= 1 && number <= MAX_DAYS;
    return isValid ? undefined : words.days(MAX_DAYS);
  }
  if (FRACTIONS.includes(name)) return Number.isFinite(number) ? undefined : words.number;
  return Number.isSafeInteger(number) ? undefined : words.integer;
}
