import {
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import type { Command } from 'commander';
import { UsageError } from '../options.js';
import type { WriteLine } from '../table.js';
import { readSchemaItem, type SchemaItemData } from './schema-item.js';
import { type SchemaSource, schemaText } from './schema-text.js';

const LICENSE = 'LICENSE.apple-device-management.txt';
const MAX_FILE_BYTES = 5_000_000;
const PLATFORMS = ['iOS', 'macOS', 'tvOS', 'visionOS', 'watchOS'];

/** What the program reads of Apple's repository: the file it becomes, and where it is there. */
const PARTS = [
  { name: 'commands.json', from: 'mdm/commands', idName: 'requesttype' },
  { name: 'profiles.json', from: 'mdm/profiles', idName: 'payloadtype' },
  { name: 'skipkeys.json', from: 'other/skipkeys.yaml', idName: 'payloadtype' },
] as const;

export interface UpdateOptions {
  /** A clone of apple/device-management. */
  from: string;
  /** Where the JSON files go. */
  to: string;
  write: WriteLine;
}

/** Reads all before it writes anything, so that a bad folder leaves the schema as it is. */
export function updateSchema(options: UpdateOptions): void {
  try {
    replaceSchema(options);
  } catch (error) {
    const { message, syscall } = error as NodeJS.ErrnoException;
    if (syscall === undefined) throw error;
    throw new UsageError(`${message}. Make the file readable, or the folder writable`);
  }
}

function replaceSchema({ from, to, write }: UpdateOptions): void {
  requireCheckout(from);
  requireFolder(to);
  const read = PARTS.map((part) => ({ ...part, items: readPart(from, part) }));
  const license = readLicense(from);
  const files = read.map(({ name, items }) => {
    const file = join(to, name);
    const line = `${name}: ${items.length} items${changesOf(file, items)}`;
    return { file, line, text: schemaText(items, sourceOf(from, items)) };
  });
  for (const { file, line, text } of files) {
    write(line);
    replace(file, text);
  }
  replace(join(to, LICENSE), license);
  write(`written to ${to}; build again where that is the source, and restart the server`);
}

function requireFolder(to: string): void {
  if (!existsSync(to)) {
    throw new UsageError(`${to}: there is no such folder. Create it: mkdir -p ${to}`);
  }
  if (!statSync(to).isDirectory()) {
    throw new UsageError(`${to} is a file: name a folder, the schema is several files`);
  }
}

function requireCheckout(from: string): void {
  const missing = PARTS.map((part) => part.from).find((path) => !existsSync(join(from, path)));
  if (missing === undefined) return;
  throw new UsageError(
    `${from}: no checkout of Apple's repository, since ${missing} is missing. ` +
      'Clone it: git clone https://github.com/apple/device-management',
  );
}

function readPart(from: string, { from: path, idName }: (typeof PARTS)[number]): SchemaItemData[] {
  const place = join(from, path);
  const files = path.endsWith('.yaml')
    ? [place]
    : readdirSync(place)
        .filter((name) => name.endsWith('.yaml'))
        .map((name) => join(place, name));
  if (files.length === 0) throw new UsageError(`${place}: there is no YAML file`);
  const items = files.map((name) => {
    const file = relative(from, name).replaceAll('\\', '/');
    const found = statSync(name);
    if (!found.isFile()) throw new UsageError(`${file}: it is no file`);
    if (found.size > MAX_FILE_BYTES) {
      throw new UsageError(`${file}: more than ${MAX_FILE_BYTES} bytes`);
    }
    return readSchemaItem({ file, text: readFileSync(name, 'utf8'), idName });
  });
  if (idName === 'requesttype') requireUniqueTypes(items);
  return items;
}

/** Several files may describe one type of payload, but a command has one schema. */
function requireUniqueTypes(items: SchemaItemData[]): void {
  const files = new Map<string | undefined, string | undefined>();
  for (const { head } of items) {
    const other = files.get(head.requestType);
    if (other !== undefined) {
      throw new UsageError(`${head.file}: ${head.requestType} is in ${other} already; remove one`);
    }
    files.set(head.requestType, head.file);
  }
}

/** Apple's licence goes along with every copy of its schema. */
function readLicense(from: string): string {
  const name = ['LICENSE.txt', 'LICENSE'].find((each) => existsSync(join(from, each)));
  if (name !== undefined) return readFileSync(join(from, name), 'utf8');
  throw new UsageError(`${from}: LICENSE.txt is missing; it has to go along with the schema`);
}

/** `, new: A, B; gone: C`; empty where the file is new or has the same items. */
function changesOf(file: string, items: SchemaItemData[]): string {
  if (!existsSync(file)) return '';
  const before = new Set(namesIn(file));
  const after = new Set(items.map(({ head }) => head.requestType ?? head.payloadType));
  const listed = (title: string, names: (string | undefined)[]) =>
    names.length > 0 ? [`${title}: ${names.join(', ')}`] : [];
  const found = [
    ...listed(
      'new',
      [...after].filter((name) => !before.has(name)),
    ),
    ...listed(
      'gone',
      [...before].filter((name) => !after.has(name)),
    ),
  ];
  return found.length > 0 ? `, ${found.join('; ')}` : '';
}

/** What the file has that is to be replaced. */
function namesIn(file: string): (string | undefined)[] {
  try {
    const stored = JSON.parse(readFileSync(file, 'utf8')) as { items: Record<string, string>[] };
    return stored.items.map(({ requestType, payloadType }) => requestType ?? payloadType);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(`${file} is no schema, and nothing was written. Remove it: ${reason}`);
  }
}

function sourceOf(from: string, items: SchemaItemData[]): SchemaSource {
  return {
    repo: 'apple/device-management',
    commit: commitOf(from),
    os: newestVersions(items),
    license: `MIT, Copyright © Apple Inc., see ${LICENSE}`,
  };
}

/** As git stores it: HEAD names a commit, or a branch whose file does. */
function commitOf(from: string): string | null {
  const read = (path: string) => {
    const file = join(from, '.git', path);
    return existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined;
  };
  const head = existsSync(join(from, '.git', 'HEAD')) ? read('HEAD') : undefined;
  const branch = head?.match(/^ref: (refs\/[\w./-]+)$/)?.[1];
  const commit =
    branch === undefined ? head : (read(branch) ?? packedRef(read('packed-refs'), branch));
  return commit !== undefined && /^[0-9a-f]{40}$/.test(commit) ? commit : null;
}

function packedRef(refs: string | undefined, branch: string): string | undefined {
  const line = refs?.split('\n').find((one) => one.endsWith(` ${branch}`));
  return line?.split(' ')[0];
}

function newestVersions(items: SchemaItemData[]): Record<string, string> {
  const text = JSON.stringify(items, (_name, value) =>
    typeof value === 'bigint' ? value.toString() : value,
  );
  const newest = PLATFORMS.flatMap((platform) => {
    const named = text.matchAll(new RegExp(`"${platform}":\\{"introduced":"(\\d+)\\.(\\d+)`, 'g'));
    const versions = [...named].map(([, major, minor]) => Number(major) * 1000 + Number(minor));
    if (versions.length === 0) return [];
    const top = Math.max(...versions);
    return [[platform, `${Math.floor(top / 1000)}.${top % 1000}`] as const];
  });
  return Object.fromEntries(newest);
}

/** Never half a file. */
function replace(file: string, text: string): void {
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
}

/** The source, where the program is built from it; else the folder that the program reads. */
function ownFolder(): string {
  const built = join(__dirname, '..', '..', 'protocol', 'apple');
  const source = join(__dirname, '..', '..', '..', '..', 'src', 'protocol', 'apple');
  return existsSync(join(source, 'commands.json')) ? source : built;
}

export function addSchemaCommands(program: Command, write: WriteLine): void {
  const schema = program.command('schema').description("Apple's schema of commands and profiles");
  schema
    .command('update')
    .description("read the schema from a clone of Apple's repository device-management")
    .argument('<dir>', 'the clone')
    .option('--out <folder>', "where to write it, in place of the program's own files")
    .action((from: string, { out }: { out?: string }) => {
      updateSchema({ from, to: out ?? ownFolder(), write });
    });
}
