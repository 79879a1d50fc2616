import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ENVIRONMENT } from '../../src/config/config.js';
import { ROOT } from '../helpers/process.js';
import { removeTemporaryDirectories, temporaryDirectory } from '../helpers/temporary-directory.js';

const TEXT = readFileSync(join(ROOT, 'deploy', 'systemd', 'muster.service'), 'utf8');
const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;

afterAll(removeTemporaryDirectories);

/** Settings by section; systemd itself reads them by the same rules. */
function readUnit(): Record<string, Record<string, string>> {
  const unit: Record<string, Record<string, string>> = {};
  let section = '';
  for (const line of TEXT.split('\n').filter((one) => one !== '' && !one.startsWith('#'))) {
    const [, heading] = /^\[(\w+)\]$/.exec(line) ?? [];
    if (heading !== undefined) {
      section = heading;
      unit[section] = {};
      continue;
    }
    const [, name, value] = /^(\w+)=(.*)$/.exec(line) ?? [];
    const settings = unit[section];
    if (name === undefined || settings === undefined || name in settings) {
      throw new Error(`not understood: ${line}`);
    }
    settings[name] = value ?? '';
  }
  return unit;
}

/** With a program that exists here. */
function unitFile(): string {
  const file = join(temporaryDirectory(), 'muster.service');
  writeFileSync(file, TEXT.replace(/^ExecStart=\S+/m, `ExecStart=${process.execPath}`));
  return file;
}

describe('the unit of systemd', () => {
  it('starts the server again whatever happens, and gives it the time to stop', () => {
    const { Unit, Service, Install } = readUnit();
    expect(Service).toMatchObject({
      Type: 'exec',
      ExecStart: '/usr/local/bin/muster serve',
      Restart: 'always',
      RestartSec: '5s',
      KillMode: 'mixed',
      TimeoutStopSec: '30s',
    });
    expect(Unit?.After).toBe('network-online.target postgresql.service');
    expect(Install).toEqual({ WantedBy: 'multi-user.target' });
  });

  it('runs without privileges and writes into its own directory only', () => {
    expect(readUnit().Service).toMatchObject({
      User: 'muster',
      UMask: '0077',
      StateDirectory: 'muster',
      StateDirectoryMode: '0700',
      CapabilityBoundingSet: '',
      AmbientCapabilities: '',
      NoNewPrivileges: 'yes',
      ProtectSystem: 'strict',
      ProtectHome: 'yes',
      SystemCallFilter: '@system-service',
    });
  });

  it('sets nothing that is no setting, and keeps the data where systemd makes room for it', () => {
    const { Environment = '' } = readUnit().Service ?? {};
    const pairs = Array.from(
      Environment.matchAll(/"([^"]+)"|[^\s"]+/g),
      ([bare, quoted]) => quoted ?? bare,
    );
    const variables = Object.fromEntries(pairs.map((pair) => pair.split(/=(.*)/s, 2)));
    expect(variables.DATA_DIR).toBe('/var/lib/muster');
    expect(variables.NODE_OPTIONS).toBe('--enable-source-maps --v8-pool-size=1');
    const ofNode = ['NODE_ENV', 'NODE_OPTIONS'];
    const settings = Object.keys(variables).filter((name) => !ofNode.includes(name));
    expect(settings.filter((name) => !(name in ENVIRONMENT.shape))).toEqual([]);
  });

  (hasSystemd ? it : it.skip)('is understood by systemd', () => {
    const verified = spawnSync('systemd-analyze', ['verify', unitFile()], { encoding: 'utf8' });
    expect(verified.stderr).not.toMatch(/muster\.service:/);
    expect(verified.status).toBe(0);
  });
});
