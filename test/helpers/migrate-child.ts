// A process that migrates: node --require ./scripts/typescript.cjs migrate-child.ts DATABASE_URL [DIRECTORY]
import { connectDatabase } from '../../src/db/connection/database.js';
import { migrate } from '../../src/db/schema/migrate.js';
import { MIGRATIONS_DIRECTORY } from '../../src/db/schema/migration-source.js';
import { createLogger } from '../../src/logger.js';

const [connectionString = '', directory = MIGRATIONS_DIRECTORY] = process.argv.slice(2);

async function main(): Promise<void> {
  const db = connectDatabase({ connectionString, poolSize: 2 });
  process.stdout.write('connected\n');
  const applied = await migrate(db, { logger: createLogger('silent'), directory });
  process.stdout.write(`applied ${JSON.stringify(applied)}\n`);
  await db.close();
}

main().catch((error: unknown) => {
  process.stdout.write(`failed ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
