// Fails when the JavaScript until the device list is interactive takes more than 200 kB, gzipped.
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const BUDGET = 200_000;
const ASSETS = fileURLToPath(new URL('../../dist/web/assets', import.meta.url));
// Chunks of other routes count too: it is the upper bound.
const sizes = readdirSync(ASSETS)
  .filter((name) => name.endsWith('.js.gz'))
  .map((name) => statSync(join(ASSETS, name)).size);
const total = sizes.reduce((sum, size) => sum + size, 0);
process.stdout.write(`JavaScript: ${total} of ${BUDGET} bytes\n`);
process.exitCode = total <= BUDGET ? 0 : 1;
