import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cleanUp, newHome, ROOT } from '../helpers/process.js';

afterAll(cleanUp);

function packedFiles(): string[] {
  const { stdout } = spawnSync('npm', ['pack', '--dry-run', '--json'], {
    cwd: ROOT,
    encoding: 'utf8',
    env: { PATH: process.env.PATH, HOME: newHome(), npm_config_update_notifier: 'false' },
  });
  const [pack] = JSON.parse(stdout) as { files: { path: string }[] }[];
  return pack?.files.map(({ path }) => path) ?? [];
}

function fencedAfter(heading: string, text: string): string {
  const section = text.split(`\n${heading}\n`)[1] ?? '';
  return /```\w*\n([\s\S]*?)\n```/.exec(section)?.[1] ?? '';
}

describe('the package', () => {
  const files = packedFiles();

  it('holds the compiled program, its migrations, README, documentation and licences', () => {
    expect(files).toEqual(
      expect.arrayContaining([
        'package.json',
        'LICENSE',
        'README.md',
        'docs/operations.md',
        '.env.example',
        'dist/package.json',
        'dist/src/cli/muster.js',
        'dist/src/threads/thread.js',
        'dist/src/protocol/apple/commands.json',
        'dist/src/protocol/apple/LICENSE.apple-device-management.txt',
        'dist/migrations/20261121090000_first_schema.js',
        'dist/static/rapidoc-min.js',
        'dist/web/index.html',
        'dist/static/rapidoc.LICENSE.txt',
      ]),
    );
  });

  it('holds neither sources, tests nor data', () => {
    expect(files.filter((path) => /^(src|test|bench|data|scripts)\//.test(path))).toEqual([]);
    expect(files.filter((path) => /(^|\/)\.env$|\.(key|pem|log)$|\.test\./.test(path))).toEqual([]);
  });

  it('has the program where package.json says', () => {
    const { bin } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      bin: { muster: string };
    };
    expect(files).toContain(bin.muster);
    expect(existsSync(join(ROOT, bin.muster))).toBe(true);
  });
});

describe('.ci/run', () => {
  it('runs exactly the test command of the README', () => {
    const script = readFileSync(join(ROOT, '.ci', 'run'), 'utf8').trimEnd();
    const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
    expect(fencedAfter('## Test', readme)).toBe('npm ci && npm test');
    expect(script.split('\n')).toContain(`(${fencedAfter('## Test', readme)})`);
  });
});
