import { pointerTo } from '../protocol/apple/schema-types.js';
import type { PlistNode, PlistNodeDict } from '../protocol/plist/plist.js';
import { isIdentity, SECRET_NAME } from './check-file.js';
import { type ProfileParts, readParts } from './profile-parts.js';

/** A value as the API shows it. */
export type ShownValue = string | number | boolean | null;

/** One key that differs between two versions. */
export interface ProfileChange {
  change: 'added' | 'removed' | 'changed';
  /** PayloadIdentifier of its payload; null for a key of the profile itself. */
  payload: string | null;
  payload_type: string | null;
  /** JSON pointer within the payload or the profile; empty for a payload as a whole. */
  path: string;
  /** Null where there is none. */
  before: ShownValue;
  after: ShownValue;
}

export interface ProfileDiff {
  total: number;
  /** The first of them. */
  changes: ProfileChange[];
}

const MAX_CHANGES = 1_000;
const MAX_TEXT_LENGTH = 500;
const MASK = '********';
/** A user name, a password or a query in a URL. */
const SECRET_URL = /\/\/[^/\s]*@|:\/\/\S*[?#]\S*=/;

/** The keys that differ. Payloads are compared with those of the same PayloadIdentifier. */
export function diffProfiles(from: ProfileParts, to: ProfileParts): ProfileDiff {
  const before = readParts(from);
  const after = readParts(to);
  const changes = compareLeaves(leavesOf(before.topLevel), leavesOf(after.topLevel), {
    payload: null,
    payload_type: null,
  });
  const former = byIdentifier(before.payloads);
  const present = byIdentifier(after.payloads);
  for (const key of new Set([...former.keys(), ...present.keys()])) {
    changes.push(...comparePayloads(former.get(key), present.get(key)));
  }
  return { total: changes.length, changes: changes.slice(0, MAX_CHANGES) };
}

type Owner = Pick<ProfileChange, 'payload' | 'payload_type'>;

/** A value that has no members, or none at all. */
interface Leaf {
  /** Equal for equal values of one type. */
  content: string;
  shown: ShownValue;
}

function byIdentifier(payloads: PlistNodeDict[]): Map<string, PlistNodeDict> {
  return new Map(payloads.map((one) => [textOf(one, 'PayloadIdentifier').toLowerCase(), one]));
}

function textOf(dict: PlistNodeDict, key: string): string {
  const value = dict.get(key);
  return typeof value === 'string' ? value : '';
}

function comparePayloads(
  before: PlistNodeDict | undefined,
  after: PlistNodeDict | undefined,
): ProfileChange[] {
  const known = after ?? before ?? new Map<string, PlistNode>();
  const payload = textOf(known, 'PayloadIdentifier');
  const owner = { payload, payload_type: textOf(known, 'PayloadType') };
  if (before !== undefined && after !== undefined) {
    return compareLeaves(leavesOf(before), leavesOf(after), owner);
  }
  const change = before === undefined ? 'added' : 'removed';
  return [{ change, ...owner, path: '', before: null, after: null }];
}

function compareLeaves(
  before: Map<string, Leaf>,
  after: Map<string, Leaf>,
  owner: Owner,
): ProfileChange[] {
  const changes: ProfileChange[] = [];
  for (const path of new Set([...before.keys(), ...after.keys()])) {
    const [former, present] = [before.get(path), after.get(path)];
    if (former?.content === present?.content) continue;
    const change = former === undefined ? 'added' : present === undefined ? 'removed' : 'changed';
    const values = { before: former?.shown ?? null, after: present?.shown ?? null };
    changes.push({ change, ...owner, path, ...values });
  }
  return changes;
}

/** Values by their JSON pointers, with secrets masked. */
function leavesOf(dict: PlistNodeDict): Map<string, Leaf> {
  const leaves = new Map<string, Leaf>();
  const isKey = isIdentity(dict);
  const visit = (node: PlistNode, at: string, isSecret: boolean): void => {
    const members = membersOf(node);
    for (const [key, member] of members) {
      const isNamed = typeof key === 'string' && SECRET_NAME.test(key);
      const isContent = isKey && at === '' && key === 'PayloadContent';
      visit(member, pointerTo(at, key), isSecret || isNamed || isContent);
    }
    if (members.length === 0 && at !== '') leaves.set(at, leafOf(node, isSecret));
  };
  visit(dict, '', false);
  return leaves;
}

function membersOf(node: PlistNode): [string | number, PlistNode][] {
  if (Array.isArray(node)) return [...node.entries()];
  return node instanceof Map ? [...node] : [];
}

function leafOf(node: PlistNode, isSecret: boolean): Leaf {
  if (typeof node === 'string') {
    const isMasked = (isSecret && node !== '') || SECRET_URL.test(node);
    return { content: `text ${node}`, shown: isMasked ? MASK : cut(node) };
  }
  if (Buffer.isBuffer(node)) {
    const shown = isSecret ? MASK : `(${node.length} bytes)`;
    return { content: `data ${node.toString('base64')}`, shown };
  }
  if (node instanceof Date) {
    const text = node.toISOString().replace('.000Z', '+00:00');
    return { content: `date ${text}`, shown: text };
  }
  if (typeof node === 'object') return emptyLeaf(Array.isArray(node) ? '[]' : '{}');
  const content = `${typeof node} ${node}`;
  const isExact = typeof node === 'boolean' || Number.isSafeInteger(Number(node));
  if (typeof node === 'bigint') return { content, shown: isExact ? Number(node) : String(node) };
  return { content, shown: Number.isFinite(Number(node)) ? node : String(node) };
}

function emptyLeaf(shown: string): Leaf {
  return { content: shown, shown };
}

function cut(text: string): string {
  return text.length > MAX_TEXT_LENGTH ? `${text.slice(0, MAX_TEXT_LENGTH)}…` : text;
}
