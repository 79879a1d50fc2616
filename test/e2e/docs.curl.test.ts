import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../helpers/process.js';
import { removeTemporaryDirectories, temporaryDirectory } from '../helpers/temporary-directory.js';
import { shellBlocks } from './walk-through-runner.js';
import { describeWalkThroughs, WALK_THROUGHS } from './walk-throughs.js';

afterAll(removeTemporaryDirectories);

describe('the list of walk-throughs', () => {
  it('has every page of docs/ with commands', () => {
    const pages = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .map((name) => `docs/${name}`)
      .filter((page) => shellBlocks(page) !== '');
    expect(new Set(WALK_THROUGHS.map(({ page }) => page))).toEqual(new Set(pages));
  });
});

// The others are in docs-c.curl.test.ts and docs-d-to-z.curl.test.ts, so that three workers share them.
describeWalkThroughs(
  'the walk-throughs in docs/, a and b',
  WALK_THROUGHS.filter(({ page }) => page < 'docs/c'),
);

describe('the instructions that write a .env', () => {
  const pages = readdirSync(join(ROOT, 'docs')).map((name) => `docs/${name}`);
  const texts = ['README.md', ...pages.filter((page) => page.endsWith('.md'))].map((page) =>
    readFileSync(join(ROOT, page), 'utf8'),
  );
  const lines = texts.flatMap((text) => text.split('\n'));

  it('overwrite none that exists', () => {
    const commands = lines.filter((line) => /[> ]\.env$/.test(line)).map((line) => line.trim());
    expect(new Set(commands).size).toBe(2);
    for (const command of new Set(commands)) {
      const directory = temporaryDirectory();
      writeFileSync(join(directory, '.env'), 'PORT=9000\n');
      writeFileSync(join(directory, '.env.example'), 'PORT=8080\n');
      const openssl = 'openssl() { echo 0123; }\n';
      for (const _ of ['once', 'twice']) {
        execFileSync('bash', ['-c', openssl + command], { cwd: directory });
      }
      const text = readFileSync(join(directory, '.env'), 'utf8');
      expect(text).toMatch(/^PORT=9000\n(POSTGRES_PASSWORD=0123\n)?$/);
    }
  });
});
