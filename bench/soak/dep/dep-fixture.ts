import { randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ApiClient } from '../../load/api-client.js';
import { makeBenchDirectory } from '../../load/bench-directory.js';
import { type ServerProcess, startServerProcess } from '../../load/server-process.js';
import { type AppleProcess, startApple } from './apple-process.js';

/** A server with the token of an account of Apple's, which is a stand-in in another process. */
export interface DepFixture {
  apple: AppleProcess;
  server: ServerProcess;
  api: ApiClient;
  /** Gives the server a token; the first sync begins. Returns the account's id. */
  uploadToken(): Promise<number>;
  close(): Promise<void>;
}

export async function openDepFixture(databaseUrl: string): Promise<DepFixture> {
  const dataDir = makeBenchDirectory('muster-soak-dep-');
  const apple = await startApple();
  const ADMIN_TOKEN = randomBytes(24).toString('base64url');
  const DEP_CA_FILE = join(dataDir, 'dep-ca.pem');
  writeFileSync(DEP_CA_FILE, apple.target.ca);
  const server = await startServerProcess({
    databaseUrl,
    dataDir,
    watchLoop: true,
    settings: {
      ADMIN_TOKEN,
      DEP_CA_FILE,
      DEP_HOST: apple.target.url,
      INVENTORY_INTERVAL: 'off',
      PUBLIC_URL: 'https://mdm.example.com',
      DEP_SYNC_INTERVAL: 'off',
      MASTER_KEY: randomBytes(32).toString('base64'),
      LOG_LEVEL: process.env.SOAK_LOG_LEVEL ?? 'fatal',
    },
  });
  const api = new ApiClient(server.port, ADMIN_TOKEN);
  return {
    apple,
    server,
    api,
    uploadToken: () => uploadToken(server.port, ADMIN_TOKEN, apple),
    close: async () => {
      api.close();
      await server.stop();
      await apple.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

async function uploadToken(port: number, token: string, apple: AppleProcess): Promise<number> {
  const url = `http://127.0.0.1:${port}/dep`;
  const headers = { Authorization: `Bearer ${token}` };
  const certificate = await fetch(`${url}/certificate/download`, { headers });
  const file = await apple.issueToken((await answered(certificate, 200)).toString());
  const upload = await fetch(`${url}/stoken/upload`, {
    method: 'POST',
    headers: { ...headers, 'Content-Type': 'application/pkcs7-mime' },
    body: new Uint8Array(file),
  });
  const { data } = JSON.parse((await answered(upload, 201)).toString());
  return Number(data.id);
}

async function answered(response: Response, status: number): Promise<Buffer> {
  const body = Buffer.from(await response.arrayBuffer());
  if (response.status !== status) throw new Error(`${response.url}: ${response.status} ${body}`);
  return body;
}
