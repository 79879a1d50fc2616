import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

const NAME = 'rapidoc-min.js';

/**
 * Where the script of the page lies: the build has put it into `dist/static`; what runs from source
 * takes it from its package.
 */
export function pageScript(): string {
  const built = join(__dirname, '..', '..', '..', 'static', NAME);
  if (existsSync(built)) return built;
  return join(dirname(require.resolve('rapidoc/package.json')), 'dist', NAME);
}
