import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { buildPlist } from '../../src/protocol/plist.js';
import { ADMIN_TOKEN, startApp, type TestApp } from '../helpers/app.js';
import { ROOT } from '../helpers/process.js';
import { removeTemporaryDirectories, temporaryDirectory } from '../helpers/temporary-directory.js';
import { openLabWorld } from './lab-world.js';

/** What the section would have a reader type, in order. */
function examples(heading: string): string {
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
  const [, section = ''] = readme.split(`${heading}\n`);
  const blocks = (section.split(/\n##+ /)[0] ?? '').matchAll(/```sh\n(.*?)```/gs);
  return [...blocks].map(([, block]) => block).join('');
}

/** Every call fails the script unless it succeeds, and leaves its status. */
const PRELUDE = `set -euo pipefail
curl() { command curl --fail-with-body --write-out '%{stderr}%{method} %{http_code}\\n' "$@"; }
`;

const PROFILE = buildPlist({
  PayloadType: 'Configuration',
  PayloadVersion: 1,
  PayloadIdentifier: 'org.example.profile',
  PayloadUUID: '5B2E4E5C-8C3B-4E43-9B39-0E9B32B0C7AB',
  PayloadContent: [
    {
      PayloadType: 'com.apple.applicationaccess',
      PayloadVersion: 1,
      PayloadIdentifier: 'org.example.profile.restrictions',
      PayloadUUID: '0E9B32B0-8C3B-4E43-9B39-5B2E4E5CC7AB',
      allowCamera: false,
    },
  ],
});

let app: TestApp;
beforeAll(async () => {
  app = await startApp();
});
afterAll(async () => {
  await app.stop();
  removeTemporaryDirectories();
});

describe("the README's examples with curl", () => {
  it('work as they are written', async () => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, 'token'), ADMIN_TOKEN);
    writeFileSync(join(directory, 'example.mobileconfig'), PROFILE);
    const script = examples('## The API by curl')
      .replaceAll('http://localhost:8080', app.url)
      .replaceAll('data/admin-token', 'token');
    const { stderr } = await promisify(execFile)('bash', ['-c', PRELUDE + script], {
      cwd: directory,
    });
    const calls = stderr.trim().split('\n');
    const count = (call: string) => calls.filter((line) => line === call).length;
    expect(calls.length).toBe((script.match(/\b(curl|new) /g)?.length ?? 0) - 1);
    expect(new Set(calls)).toEqual(
      new Set([
        'GET 200',
        'HEAD 200',
        'POST 200',
        'POST 201',
        'PATCH 200',
        'DELETE 200',
        'DELETE 204',
      ]),
    );
    expect(count('DELETE 204')).toBe(5);
    expect(readFileSync(join(directory, 'original.mobileconfig'))).toEqual(PROFILE);
    expect(readFileSync(join(directory, 'ca.pem'), 'utf8')).toMatch(/^-----BEGIN CERTIFICATE-----/);
    const left = await app.db.knex('devices').count('* as n').first();
    expect(Number(left?.n)).toBe(0);
  });
});

describe("the README's walk through Apple's enrollment program", () => {
  it('works as it is written, and three devices of ten end enrolled', async () => {
    const world = await openLabWorld();
    try {
      const directory = temporaryDirectory();
      writeFileSync(join(directory, 'token'), ADMIN_TOKEN);
      const script = examples("### Apple's enrollment program, tried out")
        .replaceAll('http://localhost:8080', world.url)
        .replaceAll('data/admin-token', 'token');
      // `grep -q` and `head` hang up on what feeds them.
      const prelude = PRELUDE.replace('-euo pipefail', '-eu');
      const npm = `npm() { command npm --prefix '${ROOT}' "$@" --url ${world.url}; }\n`;
      const { stdout, stderr } = await promisify(execFile)('bash', ['-c', prelude + npm + script], {
        cwd: directory,
      });
      const calls = stderr.split('\n').filter((line) => /^[A-Z]+ \d+$/.test(line));
      const asked = calls.filter((call, index) => call !== 'GET 200' || calls[index - 1] !== call);
      expect(asked).toEqual([
        ...['GET 200', 'POST 200', 'POST 201', 'POST 201', 'PATCH 200', 'GET 200'],
      ]);
      expect(stdout).toContain('Devices:  3 of 3 enrolled');
      const funnel = JSON.parse(stdout.slice(stdout.lastIndexOf('{"data":')));
      expect(funnel.data.attributes).toMatchObject({
        ...{ total: 10, assigned_or_beyond: 10, enrolled: 3, failing: 0, assignment_due: 0 },
      });
    } finally {
      await world.stop();
    }
  }, 60_000);
});
