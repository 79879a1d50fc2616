import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../../helpers/temporary-directory.js';

/** A directory of migrations of its own. */
export function directoryWith(files: Record<string, string>): string {
  const directory = temporaryDirectory();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
  return directory;
}

/** The text of a migration in SQL. */
export function migration(up: string, down = 'select 1'): string {
  return `exports.up = (knex) => knex.raw(\`${up}\`);
exports.down = (knex) => knex.raw(\`${down}\`);\n`;
}
