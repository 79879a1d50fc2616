// A process that opens the embedded database of a directory and then does what its arguments say:
// node --require ./scripts/typescript.cjs embedded-child.ts DATA_DIR serve|use hold|end|throw|stop|insert|linger
import pg from 'pg';
import { openEmbedded } from '../../src/embedded-postgres/open-embedded.js';
import { createLogger } from '../../src/logger.js';

const [dataDir = '', mode = 'serve', behaviour = 'hold'] = process.argv.slice(2);

function say(word: string, text: string): void {
  process.stdout.write(`${word} ${text}\n`);
}

/** Says each number once its commit is acknowledged. */
async function insertForever(client: pg.Client): Promise<void> {
  await client.query('create table if not exists acknowledged (n integer primary key)');
  for (let n = 1; ; n += 1) {
    await client.query('insert into acknowledged values ($1)', [n]);
    say('acknowledged', String(n));
  }
}

/** Outlives an interrupt for a moment and says whether the database did too. */
function lingerOnInterrupt(client: pg.Client, stop: () => Promise<void>): void {
  const lastWords = async () => {
    await new Promise((resolve) => setTimeout(resolve, 300));
    const result = await client.query<{ n: number }>('select 1 as n');
    say('after-interrupt', String(result.rows[0]?.n));
    await client.end();
    await stop();
    process.exit(0);
  };
  process.on('SIGINT', () => void lastWords());
}

async function main(): Promise<void> {
  const embedded = await openEmbedded({
    dataDir,
    mode: mode === 'use' ? 'use' : 'serve',
    logger: createLogger('silent'),
  });
  const client = new pg.Client({ ...embedded.connection });
  client.on('error', () => say('connection', 'lost'));
  await client.connect();
  say('ready', JSON.stringify(embedded.connection));
  if (behaviour === 'insert') await insertForever(client);
  if (behaviour === 'linger') lingerOnInterrupt(client, embedded.stop);
  if (behaviour === 'hold' || behaviour === 'linger') {
    setInterval(() => {}, 1000);
    return;
  }
  await client.end();
  if (behaviour === 'throw') throw new Error('thrown on purpose');
  if (behaviour === 'stop') await embedded.stop();
}

main().catch((error: unknown) => {
  say('failed', error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
});
