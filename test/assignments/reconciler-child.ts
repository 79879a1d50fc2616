// A process that reconciles: node --require ./scripts/typescript.cjs reconciler-child.ts DATABASE_URL MASTER_KEY
import { SecretBox } from '../../src/crypto/secrets/secret-box.js';
import { connectDatabase } from '../../src/db/connection/database.js';
import { reconcilerOf } from './assignment-fixture.js';

const [connectionString = '', masterKey = ''] = process.argv.slice(2);

async function main(): Promise<void> {
  const db = connectDatabase({ connectionString, applicationName: 'reconciler-child' });
  await reconcilerOf({ db, box: new SecretBox(Buffer.from(masterKey, 'hex')) }).run();
  await db.close();
}

void main();
