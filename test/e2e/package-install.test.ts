import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cleanUp, freePort, newHome, ROOT, runToEnd, serve } from '../helpers/process.js';
import { filesBelow, npmEnvironment } from './dockerfile.js';

const INSTALL_MS = 120_000;

let home: string;
let program: string;
let installed: string;

async function npm(...args: string[]): Promise<string> {
  const options = { cwd: ROOT, env: npmEnvironment(), timeout: INSTALL_MS };
  return (await promisify(execFile)('npm', args, options)).stdout;
}

beforeAll(async () => {
  home = newHome();
  const [{ filename }] = JSON.parse(await npm('pack', '--json', '--pack-destination', home)) as [
    { filename: string },
  ];
  const prefix = join(home, 'prefix');
  await npm('install', '--global', '--prefix', prefix, join(home, filename));
  program = join(prefix, 'bin', 'muster');
  installed = join(prefix, 'lib', 'node_modules', 'muster-mdm');
}, 2 * INSTALL_MS);
afterAll(cleanUp);

describe('the package, installed globally', () => {
  it('has one program, which npx therefore runs by the name of the package', async () => {
    expect(readdirSync(join(home, 'prefix', 'bin'))).toEqual(['muster']);
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    expect(await runToEnd(['--version'], { program })).toEqual({ code: 0, output: `${version}\n` });
  });

  it('holds neither sources, tests, settings nor keys', () => {
    const paths = filesBelow(installed)
      .map(({ path }) => path)
      .filter((path) => !path.startsWith('node_modules/'));
    expect(paths).toContain('dist/src/cli/muster.js');
    expect(paths).toContain('deploy/systemd/muster.service');
    const unwanted = /\.ts$|^(src|test|bench|scripts|migrations|data)\/|\.(pem|key|p12|log)$/;
    expect(paths.filter((path) => unwanted.test(path))).toEqual([]);
    expect(paths.filter((path) => /(^|\/)\.(env$|npmrc|git|ci)/.test(path))).toEqual([]);
  });

  it('serves with a PostgreSQL of its own, in a directory with nothing in it', async () => {
    const dataDir = join(newHome(), 'data');
    const env = { PORT: String(await freePort()), APNS_HOST: 'http://127.0.0.1:9' };
    const server = await serve({ program, dataDir, env });
    const { code, output } = await runToEnd(['health'], { program, dataDir, env });
    expect([code, output]).toEqual([0, `healthy: ${server.url}/readyz answers 200\n`]);
    const token = readFileSync(join(dataDir, 'admin-token'), 'utf8').trim();
    const answer = await fetch(`${server.url}/api/v1/devices`, {
      headers: { Authorization: `Bearer ${token}` },
    });
    expect(answer.status).toBe(200);
    server.kill('SIGTERM');
    expect(await server.ended).toBe(0);
  }, 60_000);
});
