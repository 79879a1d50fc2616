/**
 * A page of docs/ joins by one line in WALK_THROUGHS. Its `sh` blocks are then typed in order, in one
 * shell, against a fresh server that was started with LAB=on (`env` adds settings). Write them for a
 * reader in the project's directory whose server is at http://localhost:8080 and whose token is in
 * data/admin-token. Every command must succeed, and none may leave a file outside data/: write to
 * "$(mktemp -d)". What a reader should see goes into `shows`.
 *
 * Commands that a test cannot run (another machine, Apple's portal) and sample output stand in blocks
 * without `sh`: ```console or no language. A page with `sh` blocks that is not in the list fails.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../helpers/process.js';
import { removeTemporaryDirectories } from '../helpers/temporary-directory.js';
import { openLabWorld } from './lab-world.js';
import { runWalkThrough, shellBlocks } from './walk-through-runner.js';

interface WalkThrough {
  page: string;
  /** Settings of the server beside LAB=on, for example { ENROLLMENT: 'link' }. */
  env?: Record<string, string>;
  /** Text that the commands print. */
  shows?: string[];
}

const WALK_THROUGHS: WalkThrough[] = [
  { page: 'docs/api.md', shows: ['"id":"'] },
  {
    page: 'docs/enrollment.md',
    env: { REPLACE_ENROLLED: 'hold' },
    shows: ['refused, as it should be', '"state": "held"', '"state": "approved"'],
  },
  { page: 'docs/operations.md', shows: ['"status":"ready"'] },
];

afterAll(removeTemporaryDirectories);

describe('the walk-throughs in docs/', () => {
  it('are all in the list of this test', () => {
    const pages = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .map((name) => `docs/${name}`)
      .filter((page) => shellBlocks(page) !== '');
    expect(new Set(WALK_THROUGHS.map(({ page }) => page))).toEqual(new Set(pages));
  });

  it.each(WALK_THROUGHS)(
    '$page works as it is written and leaves no file',
    async (walkThrough) => {
      const { page, env = {}, shows = [] } = walkThrough;
      const world = await openLabWorld(env);
      try {
        const { connectionString } = world.app.database;
        const server = { url: world.url, connectionString };
        const { stdout, left } = await runWalkThrough(shellBlocks(page), server);
        for (const text of shows) expect(stdout).toContain(text);
        expect(left).toEqual([]);
      } finally {
        await world.stop();
      }
    },
    180_000,
  );
});
