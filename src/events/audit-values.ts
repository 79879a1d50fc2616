import { createHash } from 'node:crypto';
import type { AuditValues, Changes } from '../jsonapi/context.js';
import { formatTimestamp } from '../jsonapi/definition/values.js';

/** Longer text is replaced by its digest. */
const MAX_TEXT = 1_000;
/** Further elements of a list are counted only. */
const MAX_ELEMENTS = 1_000;
/** Most characters of one value as JSON, and of all values of an event. */
const MAX_VALUE = 16_000;
const MAX_TOTAL = 64_000;

const PEM = /^\s*-----BEGIN ([A-Z0-9 ]+)-----([A-Za-z0-9+/=\s]+)-----END/;

/** The stored form of an event's values: JSON of bounded size, with `changes` among the details. */
export function auditDetails({ changes, details = {} }: AuditValues): Record<string, unknown> {
  const budget = { left: MAX_TOTAL };
  const stored = boundMembers(details, budget);
  return changes === undefined ? stored : { changes: boundChanges(changes, budget), ...stored };
}

interface Budget {
  left: number;
}

function boundChanges(changes: Changes, budget: Budget): Record<string, unknown> {
  const bound = Object.entries(changes).map(([name, change]) => {
    if (change === 'changed') return [name, change] as const;
    const isValue = Array.isArray(change);
    const stored = isValue ? change.map((value) => bounded(value, budget)) : ids(change);
    return [name, stored] as const;
  });
  return Object.fromEntries(bound);
}

function ids({ added, removed }: { added: number[]; removed: number[] }) {
  return { added: readable(added), removed: readable(removed) };
}

function boundMembers(values: Record<string, unknown>, budget: Budget): Record<string, unknown> {
  const members = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(members.map(([name, value]) => [name, bounded(value, budget)]));
}

function bounded(value: unknown, budget: Budget): unknown {
  const stored = readable(value);
  const text = JSON.stringify(stored);
  const isTooLong = text.length > Math.min(MAX_VALUE, budget.left);
  const kept = isTooLong ? digestOf(text) : stored;
  budget.left -= isTooLong ? 0 : text.length;
  return kept;
}

/** As readable JSON: long text and binary values as their digest. */
function readable(value: unknown): unknown {
  if (typeof value === 'string') return readableText(value);
  if (typeof value === 'bigint') return value.toString();
  if (value instanceof Date) return formatTimestamp(value);
  if (Buffer.isBuffer(value)) return `sha256:${sha256(value)} (${value.length} bytes)`;
  if (Array.isArray(value)) return readableList(value);
  if (typeof value !== 'object' || value === null) return value ?? null;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(members.map(([name, member]) => [name, readable(member)]));
}

function readableList(list: unknown[]): unknown[] {
  const shown = list.slice(0, MAX_ELEMENTS).map(readable);
  const rest = list.length - shown.length;
  return rest === 0 ? shown : [...shown, `and ${rest} more`];
}

/** A PEM block as the SHA-256 of its DER, which for a certificate is its fingerprint. */
function readableText(text: string): string {
  const [, label, body] = PEM.exec(text) ?? [];
  if (label !== undefined && body !== undefined) {
    if (label.endsWith('PRIVATE KEY')) return 'PRIVATE KEY';
    return `${label} sha256:${sha256(Buffer.from(body, 'base64'))}`;
  }
  return text.length > MAX_TEXT ? digestOf(text) : text;
}

function digestOf(text: string): string {
  return `sha256:${sha256(text)} (${text.length} characters)`;
}

function sha256(bytes: string | Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
