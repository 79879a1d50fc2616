/** A Date has milliseconds, so the API shows and compares milliseconds. */
const TIMESTAMP =
  /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(?:(Z)|([+ -])(\d\d):?(\d\d)))?$/i;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const MAX_JSON_DEPTH = 32;

/**
 * Reads an ISO 8601 date, or date and time with an offset; undefined if invalid. A space counts as the
 * plus sign of the offset: an unescaped plus becomes a space in a URL.
 */
export function parseTimestamp(text: string): Date | undefined {
  const match = TIMESTAMP.exec(text);
  if (match === null) return undefined;
  const [, day = '', time = '00:00', zulu, sign = '+', hours = '00', minutes = '00'] = match;
  const offset = zulu ? 'Z' : `${sign === '-' ? '-' : '+'}${hours}:${minutes}`;
  const date = new Date(`${day}T${time}${offset}`);
  return isStorableTime(date) && isRealDay(day) ? date : undefined;
}

// Beyond these years PostgreSQL and JavaScript write different text forms.
function isStorableTime(date: Date): boolean {
  const year = date.getUTCFullYear();
  return year >= 1 && year <= 9999;
}

// `new Date('2026-02-30T…')` rolls over to March.
function isRealDay(day: string): boolean {
  const midnight = new Date(`${day}T00:00Z`);
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(day);
}

/** `2026-03-26T23:42:09+00:00`; a fraction only when it is not zero. */
export function formatTimestamp(date: Date): string {
  const iso = date.toISOString();
  const fraction = date.getUTCMilliseconds() === 0 ? -5 : -1;
  return `${iso.slice(0, fraction)}+00:00`;
}

/** The lower-case form of a UUID with dashes; undefined if invalid. */
export function parseUuid(text: string): string | undefined {
  const lower = text.toLowerCase();
  return UUID.test(lower) ? lower : undefined;
}

/** An id from a path or a linkage: a number or a string of digits; undefined if invalid. */
export function parseId(value: unknown): number | undefined {
  const id = typeof value === 'string' && /^\d{1,19}$/.test(value) ? Number(value) : value;
  return typeof id === 'number' && Number.isSafeInteger(id) && id > 0 ? id : undefined;
}

/** PostgreSQL stores neither NUL nor half of a surrogate pair. */
export function isStorableText(text: string): boolean {
  return !text.includes('\0') && !/\p{Surrogate}/u.test(text);
}

interface Pending {
  value: unknown;
  depth: number;
}

/** The fault of a JSON value to be stored; undefined if it has none. */
export function faultOfJson(root: unknown): string | undefined {
  const pending: Pending[] = [{ value: root, depth: 0 }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { value, depth } = next;
    if (depth > MAX_JSON_DEPTH) return `nests deeper than ${MAX_JSON_DEPTH} levels`;
    if (typeof value === 'string' && !isStorableText(value)) return 'holds an invalid character';
    if (typeof value !== 'object' || value === null) continue;
    for (const [key, member] of Object.entries(value)) {
      if (!isStorableText(key)) return 'holds an invalid character';
      pending.push({ value: member, depth: depth + 1 });
    }
  }
  return undefined;
}
