import { randomBytes } from 'node:crypto';
import { keysRotateMaster } from '../../src/cli/keys.js';
import { SecretBox } from '../../src/crypto/secret-box.js';
import { createCertificateAuthorities } from '../../src/pki/authorities.js';
import { createTestDatabase } from '../helpers/database.js';
import { capturingLogger } from '../http/log-lines.js';
import { findUnreadable } from '../../src/pki/reseal.js';
it('speed', async () => {
  const test = await createTestDatabase();
  const key = randomBytes(32);
  const box = new SecretBox(key);
  const logger = capturingLogger().logger;
  await createCertificateAuthorities({ db: test.db, box, logger });
  await test.db.knex.raw('insert into devices (device_name) select g::text from generate_series(1, 200000) g');
  const rows = (await test.db.knex('devices').select('id')) as { id: number }[];
  for (let i = 0; i < rows.length; i += 5000) {
    const part = rows.slice(i, i + 5000);
    await test.db.knex.raw('update devices d set sealed_push = v.s::bytea from unnest(?::bigint[], ?::text[]) v(id, s) where v.id = d.id', [
      part.map((r) => r.id), part.map((r) => `\\x${box.seal(randomBytes(120), `devices/${r.id}/push`).toString('hex')}`)]);
  }
  let t = performance.now();
  await findUnreadable(test.db, box);
  console.log('check', 200000 / ((performance.now() - t) / 1000));
  t = performance.now();
  await keysRotateMaster({ config: { dataDir: '/tmp', masterKey: key }, db: test.db, logger, write: (l) => console.log(l, performance.now() - t) }, {}, randomBytes(32).toString('base64'));
  console.log('all', 200000 / ((performance.now() - t) / 1000), process.memoryUsage().rss / 1e6);
  await test.drop();
}, 300000);
