// Imports with extensions: tests that run in Node read this file, too.
import { FACT_FAULTS as words } from '../text/device-facts.js';

/** As far back as the API compares times. */
const MAX_DAYS = 3_660;

/** The numbers that need not be whole. A test compares them with the server's. */
export const FRACTIONS = ['device_capacity', 'available_device_capacity', 'battery_level'];

/** What is wrong with a value that is compared with a fact; undefined for one that the API takes. */
export function faultOfValue(kind: string, name: string, value: string): string | undefined {
  if (!['time', 'number', 'reference'].includes(kind)) return undefined;
  const number = value.trim() === '' ? Number.NaN : Number(value);
  if (kind === 'time') {
    const isValid = Number.isInteger(number) && number >= 1 && number <= MAX_DAYS;
    return isValid ? undefined : words.days(MAX_DAYS);
  }
  if (FRACTIONS.includes(name)) return Number.isFinite(number) ? undefined : words.number;
  return Number.isSafeInteger(number) ? undefined : words.integer;
}
