import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join, sep } from 'node:path';

/** One file of the built console, and the compressed ones beside it. */
export interface ConsoleFile {
  path: string;
  mediaType: string;
  /** By content coding: the path of the file in it. */
  encoded: Partial<Record<Encoding, string>>;
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

/** Undefined where the directory holds no console. Files are found now, and read when they are asked for. */
export function findConsole(directory: string | undefined): ConsoleFiles | undefined {
  if (directory === undefined || !existsSync(join(directory, INDEX))) return undefined;
  const names = readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  const known = new Set(names);
  const compressed = Object.values(SUFFIXES);
  const plain = names.filter((name) => !compressed.some((suffix) => name.endsWith(suffix)));
  const files = plain.map((path): [string, ConsoleFile] => [
    path.slice(directory.length).split(sep).join('/'),
    { path, mediaType: mediaTypeOf(path), encoded: encodedOf(path, known) },
  ]);
  const byPath = new Map(files);
  byPath.delete(`/${INDEX}`);
  return { index: readFileSync(join(directory, INDEX), 'utf8'), files: byPath };
}

function mediaTypeOf(path: string): string {
  return MEDIA_TYPES[extname(path)] ?? 'application/octet-stream';
}

function encodedOf(path: string, known: ReadonlySet<string>): ConsoleFile['encoded'] {
  const found = ENCODINGS.map((encoding) => [encoding, path + SUFFIXES[encoding]] as const);
  return Object.fromEntries(found.filter(([, name]) => known.has(name)));
}
