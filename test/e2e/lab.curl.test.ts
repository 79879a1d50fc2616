import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cleanUp, freePort, newHome, run } from '../helpers/process.js';

/** Every call fails the script unless it succeeds, and leaves its status. */
const PRELUDE = `set -euo pipefail
curl() { command curl --fail-with-body --write-out '%{stderr}%{method} %{http_code}\\n' "$@"; }
`;

afterAll(cleanUp);

describe('what muster lab of the quickstart prints to try', () => {
  it('works as it is written', async () => {
    const dataDir = join(newHome(), 'data');
    const lab = run(['lab'], { dataDir, env: { PORT: String(await freePort()) } });
    const [, script = ''] = await lab.waitFor(/^(AUTH=.*)^Ctrl-C ends everything/ms, 60_000);
    const cwd = newHome();
    const { stderr, stdout } = await promisify(execFile)('bash', ['-c', PRELUDE + script], { cwd });
    expect(readdirSync(cwd)).toEqual([]);
    expect(stderr.trim().split('\n')).toEqual([
      'GET 200',
      'POST 201',
      'GET 200',
      'POST 201',
      'GET 200',
      'POST 201',
      'POST 201',
      'GET 200',
      'GET 200',
      'POST 200',
      'GET 200',
      'GET 200',
      'GET 200',
      'GET 200',
      'POST 201',
      'POST 200',
      'POST 200',
      'POST 201',
    ]);
    // Verified is what the device has listed since, a second or so after it said that it is installed.
    expect(stdout).toMatch(/"states":\{[^}]*"(installed|verified)":[1-9]/);
    expect(stdout).toMatch(/"identifier":"dev.muster.filevault","version":1,"state":"verified"/);
    await lab.waitFor(/: ClearPasscode Acknowledged$/m);
    lab.kill('SIGTERM');
    expect(await lab.ended).toBe(0);
  }, 90_000);
});
