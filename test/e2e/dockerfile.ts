import { execFile } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../helpers/process.js';

interface Instruction {
  name: string;
  text: string;
}

interface Stage {
  name: string;
  instructions: Instruction[];
}

/** The stages of a Dockerfile: instructions with continued lines joined, comments left out. */
export function readStages(text: string): Stage[] {
  const lines = text
    .replace(/^\s*#.*\n/gm, '')
    .replace(/\\\n\s*/g, ' ')
    .split('\n');
  const stages: Stage[] = [];
  for (const line of lines.filter((one) => one.trim() !== '')) {
    const [, name = '', rest = ''] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? [];
    if (name === 'FROM')
      stages.push({ name: / AS (\w+)$/.exec(rest)?.[1] ?? '', instructions: [] });
    else stages.at(-1)?.instructions.push({ name, text: rest });
  }
  return stages;
}

/** Copies what .dockerignore lets through, as `docker build` sends it. */
export function copyContext(target: string): void {
  const lines = readFileSync(join(ROOT, '.dockerignore'), 'utf8').trim().split('\n');
  const [first, ...others] = lines;
  if (first !== '*') throw new Error('.dockerignore is not a list of what is sent');
  const sent = others.filter((line) => line.startsWith('!')).map((line) => line.slice(1));
  const left = new Set(
    others.filter((line) => !line.startsWith('!')).map((line) => join(ROOT, line)),
  );
  const filter = (source: string) => !left.has(source);
  for (const path of sent) {
    cpSync(join(ROOT, path), join(target, path), { recursive: true, filter });
  }
}

export interface BuiltStage {
  root: string;
  env: Record<string, string>;
  /** Commands that need an account or another owner: noted, not run. */
  noted: string;
}

interface BuildContext {
  context: string;
  /** Those that COPY --from may name. */
  stages: Map<string, BuiltStage>;
}

/**
 * Does in a directory what `docker build` does in a container: WORKDIR, ENV, COPY and RUN, absolute paths
 * being those below `root`. The base image is this machine.
 */
export async function buildStage(
  { instructions }: Stage,
  root: string,
  { context, stages }: BuildContext,
): Promise<BuiltStage> {
  const shims = writeShims(`${root}-shims`);
  const built: BuiltStage = { root, env: {}, noted: '' };
  let directory = root;
  for (const { name, text } of instructions) {
    if (name === 'WORKDIR') {
      directory = join(root, text);
      mkdirSync(directory, { recursive: true });
    }
    if (name === 'ENV') Object.assign(built.env, variables(text));
    if (name === 'COPY') copy(text, { context, stages, directory });
    if (name !== 'RUN') continue;
    mkdirSync(join(root, 'usr', 'local', 'bin'), { recursive: true });
    const env = {
      ...npmEnvironment(),
      PATH: `${shims}:${process.env.PATH}`,
      SHIM_LOG: join(shims, 'log'),
    };
    const command = text.replace(/(?<=[\s">'])\/(app|data|usr\/local\/bin)\b/g, `${root}/$1`);
    await promisify(execFile)('sh', ['-c', command], { cwd: directory, env });
  }
  built.noted = readFileSync(join(shims, 'log'), 'utf8').replaceAll(root, '');
  return built;
}

/** With the cache of the user, and a registry that hangs given up soon. */
export function npmEnvironment(): Record<string, string | undefined> {
  return {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    npm_config_fetch_timeout: '20000',
    npm_config_prefer_offline: 'true',
    npm_config_update_notifier: 'false',
  };
}

/** `install` makes its directory, without the owner. */
function writeShims(directory: string): string {
  mkdirSync(directory, { recursive: true });
  const note = '#!/bin/sh\nprintf "%s\\n" "$(basename "$0") $*" >> "$SHIM_LOG"\n';
  const scripts = { useradd: note, install: `${note}for last; do :; done\nmkdir -p "$last"\n` };
  for (const [name, script] of Object.entries(scripts)) {
    writeFileSync(join(directory, name), script);
    chmodSync(join(directory, name), 0o755);
  }
  writeFileSync(join(directory, 'log'), '');
  return directory;
}

function variables(text: string): Record<string, string> {
  return Object.fromEntries(text.split(' ').map((pair) => pair.split('=') as [string, string]));
}

function copy(
  text: string,
  { context, stages, directory }: BuildContext & { directory: string },
): void {
  const [, from, paths = ''] = /^(?:--from=(\w+) )?(.*)$/.exec(text) ?? [];
  const base = from === undefined ? context : stages.get(from)?.root;
  if (base === undefined) throw new Error(`COPY from an unknown stage: ${from}`);
  const names = paths.split(' ');
  const target = names.pop() ?? '';
  for (const name of names) {
    const source = join(base, name);
    const isDirectory = statSync(source).isDirectory();
    const into = isDirectory || !target.endsWith('/') ? target : join(target, basename(name));
    cpSync(source, resolve(directory, into), { recursive: true, verbatimSymlinks: true });
  }
}

/** Every file below `directory`, by its path there, with its size in bytes. */
export function filesBelow(directory: string): { path: string; size: number }[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return {
        path: path.slice(directory.length + 1),
        size: entry.isFile() ? statSync(path).size : 0,
      };
    });
}
