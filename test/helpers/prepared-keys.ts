import { createPrivateKey, createPublicKey } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { exportPrivateKey, generateRsaKeyPair, type KeyPair } from '../../src/crypto/keys/keys.js';

let taken = 0;

/**
 * The RSA key of 2048 bits with this name, generated once in a run of jest: generating one takes longer
 * than most tests.
 */
export async function preparedKeys(name: string): Promise<KeyPair> {
  const run = process.env.MUSTER_TEST_RUN;
  if (run === undefined) return generateRsaKeyPair(2048);
  const file = join(run, `${name}.key`);
  if (!existsSync(file)) {
    const { privateKey } = await generateRsaKeyPair(2048);
    const written = `${file}.${process.pid}`;
    writeFileSync(written, exportPrivateKey(privateKey));
    renameSync(written, file);
  }
  const privateKey = createPrivateKey({ key: readFileSync(file), format: 'der', type: 'pkcs8' });
  return { privateKey, publicKey: createPublicKey(privateKey) };
}

/** A prepared key that this test file has not had yet. */
export function nextKeys(): Promise<KeyPair> {
  taken += 1;
  return preparedKeys(`rsa-${taken}`);
}
