import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { buildPlist } from '../../src/protocol/plist.js';
import { ADMIN_TOKEN, startApp, type TestApp } from '../helpers/app.js';
import { ROOT } from '../helpers/process.js';
import { temporaryDirectory } from '../helpers/temporary-directory.js';

const HEADING = '## The API by curl\n';

/** What the section would have a reader type, in order. */
function examples(): string {
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
  const [, section = ''] = readme.split(HEADING);
  const blocks = (section.split('\n## ')[0] ?? '').matchAll(/```sh\n(.*?)```/gs);
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
afterAll(() => app.stop());

describe("the README's examples with curl", () => {
  it('work as they are written', async () => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, 'token'), ADMIN_TOKEN);
    writeFileSync(join(directory, 'example.mobileconfig'), PROFILE);
    const script = examples()
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
