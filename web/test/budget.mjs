// Fails when the JavaScript until the device list is interactive takes more than 200 kB, gzipped, or
// any other page adds more than 60 kB to what the first one has loaded.
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const FIRST = 200_000;
const ROUTE = 60_000;
const ENTRY = 'index.html';
const DEVICES = 'src/features/devices/devices-page.tsx';
const WEB = fileURLToPath(new URL('../../dist/web', import.meta.url));
const chunks = JSON.parse(readFileSync(join(WEB, '.vite', 'manifest.json'), 'utf8'));

/** The chunk and what it imports, without what it loads later. */
function closure(name, found = new Set()) {
  if (found.has(name)) return found;
  found.add(name);
  for (const imported of chunks[name].imports ?? []) closure(imported, found);
  return found;
}

function size(names) {
  const files = new Set([...names].map((name) => chunks[name].file));
  const sizes = [...files].map((file) => statSync(join(WEB, `${file}.gz`)).size);
  return sizes.reduce((sum, bytes) => sum + bytes, 0);
}

function check(label, bytes, budget) {
  if (bytes <= budget) return;
  process.stdout.write(`${label}: ${bytes} of ${budget} bytes\n`);
  process.exitCode = 1;
}

const first = closure(DEVICES, closure(ENTRY));
process.stdout.write(`JavaScript until the device list: ${size(first)} of ${FIRST} bytes\n`);
check('the device list', size(first), FIRST);
for (const [name, { isDynamicEntry }] of Object.entries(chunks)) {
  const added = [...closure(name)].filter((chunk) => !first.has(chunk));
  if (isDynamicEntry) check(name, size(added), ROUTE);
}
