// Compiles src and migrations into dist, and the console into dist/web.
// With --if-stale it does so only when a source is newer than the last build
// (install scripts are off, so `npm start` has to look for itself).
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const dist = join(root, 'dist');
// Apple's licence goes along with every copy of its schema.
const licence = join('src', 'protocol', 'apple', 'LICENSE.apple-device-management.txt');

// The script of the API's page, with its own licence and those of what it contains.
const page = {
  'rapidoc-min.js': join('dist', 'rapidoc-min.js'),
  'rapidoc-min.js.LICENSE.txt': join('dist', 'rapidoc-min.js.LICENSE.txt'),
  'rapidoc.LICENSE.txt': 'LICENSE.txt',
};

function newest(path) {
  const stats = statSync(path);
  if (!stats.isDirectory()) return stats.mtimeMs;
  return readdirSync(path).reduce(
    (latest, name) => Math.max(latest, newest(join(path, name))),
    stats.mtimeMs,
  );
}

function isFresh() {
  if (!existsSync(join(root, 'src'))) return true; // an installed package ships dist only
  const stamp = join(dist, '.built');
  if (!existsSync(stamp)) return false;
  const inputs = [
    ...['src', 'migrations', 'package.json', 'tsconfig.json', 'tsconfig.build.json'],
    ...['index.html', 'package.json', 'src', 'vite.config.js'].map((name) => join('web', name)),
  ];
  const latest = Math.max(...inputs.map((name) => newest(join(root, name))));
  return latest <= statSync(stamp).mtimeMs;
}

function compile(directory) {
  const tsc = createRequire(import.meta.url).resolve('typescript/package.json');
  const args = [join(dirname(tsc), 'bin', 'tsc'), '-p', 'tsconfig.build.json'];
  const result = spawnSync(process.execPath, [...args, '--outDir', directory], {
    cwd: root,
    stdio: 'inherit',
  });
  return result.status ?? 1;
}

function buildConsole(directory) {
  const vite = createRequire(join(root, 'web', 'package.json')).resolve('vite/package.json');
  const args = [join(dirname(vite), 'bin', 'vite.js'), 'build', '--logLevel', 'warn'];
  const result = spawnSync(process.execPath, args, {
    cwd: join(root, 'web'),
    env: { ...process.env, MUSTER_WEB_OUT: join(directory, 'web') },
    stdio: 'inherit',
  });
  return result.status ?? 1;
}

function copyPage(directory) {
  const from = dirname(createRequire(import.meta.url).resolve('rapidoc/package.json'));
  for (const [name, source] of Object.entries(page)) {
    cpSync(join(from, source), join(directory, 'static', name));
  }
}

/** Replaced in one step: another terminal may be starting from dist, or building it, just now. */
function publish(directory) {
  const former = `${directory}.former`;
  for (let attempt = 0; attempt < 10; attempt += 1) {
    try {
      if (existsSync(dist)) renameSync(dist, former);
    } catch (error) {
      // Another has just moved it away.
      if (error.code !== 'ENOENT') throw error;
    }
    try {
      renameSync(directory, dist);
      break;
    } catch (error) {
      if (attempt === 9 || !['ENOTEMPTY', 'EEXIST', 'EPERM'].includes(error.code)) throw error;
      rmSync(former, { recursive: true, force: true });
    }
  }
  rmSync(former, { recursive: true, force: true });
}

function build() {
  const startedAt = new Date();
  const directory = join(root, `dist.${process.pid}.building`);
  try {
    const status = compile(directory) || buildConsole(directory);
    if (status !== 0) return status;
    cpSync(join(root, licence), join(directory, licence));
    copyPage(directory);
    const stamp = join(directory, '.built');
    writeFileSync(stamp, `${startedAt.toISOString()}\n`);
    utimesSync(stamp, startedAt, startedAt); // what is edited during a build is newer than it
    publish(directory);
    return 0;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

if (!process.argv.includes('--if-stale') || !isFresh()) process.exitCode = build();
