import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { doctor } from '../../../src/cli/doctor/doctor.js';
import { reportLines } from '../../../src/cli/doctor/doctor-text.js';
import { loadConfig } from '../../../src/config/config.js';
import { worstOf } from '../../../src/doctor/finding.js';
import { MASTER_KEY, startApp, type TestApp } from '../../helpers/app.js';
import { ROOT, TYPESCRIPT } from '../../helpers/process.js';
import {
  removeTemporaryDirectories,
  temporaryDirectory,
} from '../../helpers/temporary-directory.js';

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  await app.container.announce();
});
afterAll(async () => {
  await app.stop();
  removeTemporaryDirectories();
});

interface Shown {
  status: string;
  checked_at: string;
  findings: { check: string; code: string; severity: string; what: string }[];
}

async function run(env: Record<string, string>, options: { json?: boolean } = {}) {
  const lines: string[] = [];
  const codes: number[] = [];
  await doctor(options, {
    readConfig: () => loadConfig(env, __dirname),
    write: (line) => lines.push(line),
    finish: (code) => codes.push(code),
  });
  return { text: lines.join('\n'), codes };
}

const settings = () => ({
  DATABASE_URL: app.database.connectionString,
  MASTER_KEY: MASTER_KEY.toString('base64'),
  DATA_DIR: temporaryDirectory(),
  PUBLIC_URL: app.url,
  APNS_HOST: 'http://127.0.0.1:9',
});

describe('muster doctor', () => {
  it('finds with --json what the API finds, and ends with 2 where there are errors', async () => {
    const { text, codes } = await run(settings(), { json: true });
    const report = JSON.parse(text) as Shown;
    expect(codes).toEqual([2]);
    expect(Object.keys(report)).toEqual(['status', 'checked_at', 'findings']);
    const found = report.findings.map(({ severity, code }) => `${severity} ${code}`);
    expect(found).toEqual(
      expect.arrayContaining([
        ...['error no_push_certificate', 'warning public_address_plain_http'],
        ...['ok public_address', 'ok same_server', 'ok schema', 'ok master_key', 'ok processes'],
      ]),
    );
  });

  it('prints an aligned list, the worst first, with the reason and the cure of each', async () => {
    const { text } = await run(settings());
    const lines = text.split('\n');
    expect(lines[0]).toMatch(/^error {4}\w+ +[A-Z]/);
    expect(lines[1]).toMatch(/^ {9}why: {2}[A-Z]/);
    expect(lines[2]).toMatch(/^ {9}cure: \S/);
    const first = lines.filter((line) => /^(error|warning|ok) /.test(line));
    const columns = new Set(first.map((line) => /^\w+ +\w+ +/.exec(line)?.[0].length));
    expect(columns.size).toBe(1);
    expect(lines.at(-1)).toMatch(/^\d+ errors?, \d+ warnings?, \d+ ok$/);
  });

  it('reports a configuration that no start accepts, and nothing else', async () => {
    const { text, codes } = await run({ PORT: 'eight', LAB: 'maybe' }, { json: true });
    const { status, findings } = JSON.parse(text) as Shown;
    expect([status, codes]).toEqual(['error', [2]]);
    const codesFound = findings.map(({ check, code }) => `${check} ${code}`);
    expect(codesFound).toEqual(Array(2).fill('settings configuration_invalid'));
    expect(findings.map(({ what }) => what.split(':')[0])).toEqual(['PORT', 'LAB']);
  });

  it('reports a BACKUP_DIR that can hold no backup, as the start does', async () => {
    const { text, codes } = await run({ ...settings(), BACKUP_DIR: __filename });
    expect(codes).toEqual([2]);
    expect(text).toMatch(
      /^error +configuration_invalid +BACKUP_DIR: .*doctor\.test\.ts is no directory; name a directory/m,
    );
  });

  it('reports a database that does not answer, without its password, and checks the rest', async () => {
    const env = {
      ...settings(),
      DATABASE_URL: 'postgresql://muster:secret-word@127.0.0.1:9/muster',
    };
    const { text, codes } = await run(env);
    expect(codes).toEqual([2]);
    expect(text).toContain('The database 127.0.0.1:9/muster cannot be reached (DATABASE_URL)');
    expect(text).toMatch(/^ok +public_address /m);
    expect(text).not.toMatch(/secret-word|check_failed/);
  });

  it('creates nothing where Muster was never started', async () => {
    const DATA_DIR = join(temporaryDirectory(), 'data');
    const { text, codes } = await run({ DATA_DIR, APNS_HOST: 'http://127.0.0.1:9' });
    expect(codes).toEqual([2]);
    expect(text).toMatch(/^error +database_missing +There is no database in DATA_DIR \(/m);
    expect(existsSync(DATA_DIR)).toBe(false);
  });

  it('says that it may not read DATA_DIR, rather than that there was no start', async () => {
    const DATA_DIR = temporaryDirectory();
    chmodSync(DATA_DIR, 0o000);
    const code = `
      const { withDoctor } = require(${JSON.stringify(join(ROOT, 'src/cli/doctor/open-doctor.ts'))});
      const { loadConfig } = require(${JSON.stringify(join(ROOT, 'src/config/config.ts'))});
      const config = loadConfig({ DATA_DIR: ${JSON.stringify(DATA_DIR)}, APNS_HOST: 'http://127.0.0.1:9' }, '/');
      if (process.getuid() === 0) process.setuid(65534);
      withDoctor(config, (one) => one.examine()).then(({ findings }) =>
        console.log(JSON.stringify(findings.filter(({ severity, check }) => severity === 'error' && check === 'database'))));`;
    const args = ['--require', TYPESCRIPT, '-e', code];
    const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', cwd: ROOT });
    expect([JSON.parse(stdout), stderr]).toEqual([
      [
        expect.objectContaining({
          code: 'data_dir_unreadable',
          what: `DATA_DIR (${DATA_DIR}) cannot be read by this account (EACCES).`,
        }),
      ],
      '',
    ]);
  });

  it('shows the text of others on one line, without escape sequences', () => {
    const what = 'Apple says:\n\u001b[31mno\u0007';
    const finding = { check: 'c', code: 'c', severity: 'ok' as const, what, why: null, cure: null };
    const report = { status: worstOf([finding]), findings: [finding], at: new Date() };
    expect(reportLines(report)).toEqual([
      'ok  c  Apple says: [31mno',
      '',
      '0 errors, 0 warnings, 1 ok',
    ]);
  });
});
