import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join, sep } from 'node:path';

/** One file of the built console, and what the build has compressed of it. */
export interface ConsoleFile {
  bytes: Buffer;
  mediaType: string;
  encoded: Partial<Record<Encoding, Buffer>>;
}

export interface ConsoleFiles {
  /** The page that loads everything else. */
  index: string;
  /** By path in URLs: `/assets/main-Bx3k.js`. */
  files: ReadonlyMap<string, ConsoleFile>;
}

/** The better one first. */
export const ENCODINGS = ['br', 'gzip'] as const;

export type Encoding = (typeof ENCODINGS)[number];

const SUFFIXES: Record<Encoding, string> = { br: '.br', gzip: '.gz' };
const INDEX = 'index.html';

const MEDIA_TYPES: Record<string, string> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
};

/** Where the build puts the console: `dist/web`; undefined for a server that runs from its source. */
export function builtConsole(): string | undefined {
  const built = join(__dirname, '..', '..', '..');
  return built.endsWith(`${sep}dist`) ? join(built, 'web') : undefined;
}

export function hasConsole(directory: string | undefined): directory is string {
  return directory !== undefined && existsSync(join(directory, INDEX));
}

/**
 * Undefined where the directory holds no console. All of it is read now (1.3 MB): an upgrade that replaces the
 * files of a running server must not take from a page what it has yet to load.
 */
export function readConsole(directory: string | undefined): ConsoleFiles | undefined {
  if (!hasConsole(directory)) return undefined;
  const names = readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  const known = new Set(names);
  const compressed = Object.values(SUFFIXES);
  const plain = names.filter((name) => !compressed.some((suffix) => name.endsWith(suffix)));
  const files = plain.map((path): [string, ConsoleFile] => [
    path.slice(directory.length).split(sep).join('/'),
    { bytes: readFileSync(path), mediaType: mediaTypeOf(path), encoded: encodedOf(path, known) },
  ]);
  const byPath = new Map(files);
  byPath.delete(`/${INDEX}`);
  return { index: readFileSync(join(directory, INDEX), 'utf8'), files: byPath };
}

function mediaTypeOf(path: string): string {
  return MEDIA_TYPES[extname(path)] ?? 'application/octet-stream';
}

function encodedOf(path: string, known: ReadonlySet<string>): ConsoleFile['encoded'] {
  const named = ENCODINGS.map((encoding) => [encoding, path + SUFFIXES[encoding]] as const);
  const found = named.filter(([, name]) => known.has(name));
  return Object.fromEntries(found.map(([encoding, name]) => [encoding, readFileSync(name)]));
}
