import { visibleText } from './visible-text.js';

const LONGEST_TEXT = 1_000;
/** Years that both sides of the database take. */
const DATE = /^(19[7-9]\d|[2-9]\d{3})-\d\d-\d\d(T|$)/;

/** Without what nobody can see; null for what is empty or no text. */
export function readText(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  const text = visibleText(value.slice(0, LONGEST_TEXT));
  return text === '' ? null : text;
}

/** As Apple writes dates (ISO 8601); null for anything else. */
export function readDate(value: unknown): Date | null {
  if (typeof value !== 'string' || !DATE.test(value)) return null;
  const date = new Date(value);
  return Number.isNaN(date.getTime()) ? null : date;
}

/** 32 hexadecimal digits, with dashes or without -> lower case with dashes; null for anything else. */
export function readUuid(value: unknown): string | null {
  const digits = typeof value === 'string' ? value.replaceAll('-', '').toLowerCase() : '';
  if (!/^[0-9a-f]{32}$/.test(digits)) return null;
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** As Apple gives UUIDs out: upper case without dashes. */
export function writeUuid(uuid: string): string {
  return uuid.replaceAll('-', '').toUpperCase();
}
