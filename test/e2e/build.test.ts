import { spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { cleanUp, newHome, ROOT } from '../helpers/process.js';

const LICENCE = 'src/protocol/apple/LICENSE.apple-device-management.txt';

const VITE_CONFIG = `export default {
  build: { outDir: process.env.MUSTER_WEB_OUT, emptyOutDir: true },
};
`;

let project: string;

function write(path: string, text: string): void {
  mkdirSync(dirname(join(project, path)), { recursive: true });
  writeFileSync(join(project, path), text);
}

function build(...args: string[]): Promise<number | null> {
  const script = join(project, 'scripts', 'build.mjs');
  const child = spawn(process.execPath, [script, ...args], { stdio: 'ignore' });
  return new Promise((resolve) => child.once('close', resolve));
}

function compiled(name: string): string {
  return readFileSync(join(project, 'dist', 'src', name), 'utf8');
}

function builtAt(): number {
  return statSync(join(project, 'dist', '.built')).mtimeMs;
}

/** As if a moment had passed since. */
function touch(path: string): void {
  const later = new Date(Date.now() + 1_000);
  utimesSync(join(project, path), later, later);
}

beforeAll(async () => {
  project = newHome();
  for (const name of ['scripts', 'tsconfig.json', 'tsconfig.build.json', LICENCE]) {
    cpSync(join(ROOT, name), join(project, name), { recursive: true });
  }
  symlinkSync(join(ROOT, 'node_modules'), join(project, 'node_modules'));
  write('package.json', '{"name": "small", "type": "commonjs"}');
  write('migrations/one.ts', 'export const one = 1;\n');
  write('src/main.ts', 'export const answer = 41;\n');
  write('web/package.json', '{"name": "small-web", "type": "module"}');
  write('web/vite.config.js', VITE_CONFIG);
  write('web/index.html', '<script type="module" src="/src/main.ts"></script>\n');
  write('web/src/main.ts', 'document.title = "first";\n');
  write('src/other.ts', 'export const other = 0;\n');
  expect(await build('--if-stale')).toBe(0);
});
afterAll(cleanUp);

describe('the build', () => {
  it('compiles sources and migrations, and carries the licence of the schema along', () => {
    expect(compiled('main.js')).toContain('exports.answer = 41');
    expect(existsSync(join(project, 'dist', 'migrations', 'one.js'))).toBe(true);
    expect(existsSync(join(project, 'dist', LICENCE))).toBe(true);
  });

  it('carries the script of the API page along, with its licences', () => {
    const original = readFileSync(join(ROOT, 'node_modules', 'rapidoc', 'dist', 'rapidoc-min.js'));
    const carried = (name: string) => readFileSync(join(project, 'dist', 'static', name));
    expect(carried('rapidoc-min.js').equals(original)).toBe(true);
    expect(carried('rapidoc.LICENSE.txt').toString()).toContain('MIT License');
    expect(carried('rapidoc-min.js.LICENSE.txt').toString()).toContain('@license');
  });

  it('does nothing while no source is newer', async () => {
    const before = builtAt();
    expect(await build('--if-stale')).toBe(0);
    expect(builtAt()).toBe(before);
  });

  it('keeps the former program when a source does not compile', async () => {
    write('src/main.ts', 'export const answer: string = 42;\n');
    touch('src/main.ts');
    expect(await build('--if-stale')).not.toBe(0);
    expect(compiled('main.js')).toContain('exports.answer = 41');
  });

  it('compiles again after a change, and forgets what was deleted', async () => {
    write('src/main.ts', 'export const answer = 42;\n');
    rmSync(join(project, 'src', 'other.ts'));
    expect(await build('--if-stale')).toBe(0);
    expect(compiled('main.js')).toContain('exports.answer = 42');
    expect(existsSync(join(project, 'dist', 'src', 'other.js'))).toBe(false);
  });

  it('builds the console again after a change of it', async () => {
    write('web/src/main.ts', 'document.title = "second";\n');
    touch('web/src/main.ts');
    expect(await build('--if-stale')).toBe(0);
    const assets = join(project, 'dist', 'web', 'assets');
    const [script = ''] = readdirSync(assets).filter((name) => name.endsWith('.js'));
    expect(readFileSync(join(assets, script), 'utf8')).toContain('second');
  });

  it('can run several times at once', async () => {
    expect(await Promise.all([build(), build(), build()])).toEqual([0, 0, 0]);
    expect(compiled('main.js')).toContain('exports.answer = 42');
    expect(readdirSync(project).filter((name) => name.startsWith('dist'))).toEqual(['dist']);
  });

  it('is not looked for where there are no sources, as in an installed package', async () => {
    rmSync(join(project, 'src'), { recursive: true });
    const before = builtAt();
    expect(await build('--if-stale')).toBe(0);
    expect(builtAt()).toBe(before);
  });
});
