// Compiles src and migrations into dist. With --if-stale it does so only when a source is newer
// than the last build (install scripts are off, so `npm start` has to look for itself).
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const stamp = join(root, 'dist', '.built');

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
  if (!existsSync(stamp)) return false;
  const inputs = ['src', 'migrations', 'package.json', 'tsconfig.json', 'tsconfig.build.json'];
  const latest = Math.max(...inputs.map((name) => newest(join(root, name))));
  return latest <= statSync(stamp).mtimeMs;
}

if (!process.argv.includes('--if-stale') || !isFresh()) {
  const started = new Date();
  const tsc = createRequire(import.meta.url).resolve('typescript/package.json');
  rmSync(join(root, 'dist'), { recursive: true, force: true });
  const result = spawnSync(
    process.execPath,
    [join(dirname(tsc), 'bin', 'tsc'), '-p', 'tsconfig.build.json'],
    { cwd: root, stdio: 'inherit' },
  );
  if (result.status !== 0) process.exit(result.status ?? 1);
  // Apple's licence goes along with every copy of its schema.
  const licence = join('src', 'protocol', 'apple', 'LICENSE.apple-device-management.txt');
  cpSync(join(root, licence), join(root, 'dist', licence));
  writeFileSync(stamp, `${started.toISOString()}\n`);
}
