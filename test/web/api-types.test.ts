import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ADMIN_TOKEN, startApp } from '../helpers/app.js';
import { removeTemporaryDirectories, temporaryDirectory } from '../helpers/temporary-directory.js';

const WEB = join(__dirname, '..', '..', 'web');

afterAll(removeTemporaryDirectories);

describe('the types of the console', () => {
  /** After a change of the API: `UPDATE_TYPES=1 npx jest test/web/api-types`. */
  it('match the API document of the server', async () => {
    const app = await startApp({ isSweeping: false });
    const file = join(temporaryDirectory(), 'openapi.json');
    try {
      const headers = { Authorization: `Bearer ${ADMIN_TOKEN}` };
      const answer = await fetch(`${app.url}/api/v1/openapi.json`, { headers });
      writeFileSync(file, await answer.text());
    } finally {
      await app.stop();
    }
    const script = join(WEB, 'scripts', 'api-types.mjs');
    if (process.env.UPDATE_TYPES) execFileSync(process.execPath, [script, file]);
    const types = execFileSync(process.execPath, [script, file, '--print'], { encoding: 'utf8' });
    expect(types).toBe(readFileSync(join(WEB, 'src', 'api', 'schema.d.ts'), 'utf8'));
  });
});
