import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../helpers/process.js';
import { removeTemporaryDirectories } from '../helpers/temporary-directory.js';
import { openLabFixture } from './lab-fixture.js';
import { runWalkThrough, shellBlocks } from './walk-through-runner.js';

/** Commands that other tests run: walk-through.test.ts, package.test.ts and lab.curl.test.ts. */
const RUN_ELSEWHERE = [
  'npm ci && npm start',
  'npm ci && npm test',
  'DATA_DIR=data/lab-tour npm run muster -- lab',
];

afterAll(removeTemporaryDirectories);

describe.each(['README.md', 'docs/quickstart.md'])('%s', (page) => {
  it('has no command that no test runs', () => {
    const text = readFileSync(join(ROOT, page), 'utf8');
    const blocks = [...text.matchAll(/^ *```(\w*)\n(.*?)\n *```$/gms)];
    const others = blocks.filter(([, language = '']) => !['sh', 'text'].includes(language));
    const commands = others.map(([, , block = '']) => block.trim());
    expect(commands.filter((command) => !isDiagram(command))).toEqual(
      RUN_ELSEWHERE.filter((command) => text.includes(command)),
    );
  });
});

function isDiagram(block: string): boolean {
  return block.includes('──▶');
}

describe("the README's tour", () => {
  it('works as it is written, from twenty devices to a cleared passcode, and leaves no file', async () => {
    const fixture = await openLabFixture();
    try {
      const { connectionString } = fixture.app.database;
      const { stdout, calls, left } = await runWalkThrough(shellBlocks('README.md'), {
        url: fixture.url,
        connectionString,
        npm: true,
      });
      expect(stdout).toContain('Devices:  20 of 20 enrolled');
      expect(stdout).toContain('"meta":{"count":2,"total":20}');
      expect(stdout).toContain(
        '"request_type":"ClearPasscode","parameters":{"UnlockToken":"********"}',
      );
      expect(calls).toEqual(['GET 200', 'GET 200', 'GET 200', 'POST 201', 'GET 200']);
      expect(left).toEqual([]);
    } finally {
      await fixture.stop();
    }
  }, 120_000);
});
