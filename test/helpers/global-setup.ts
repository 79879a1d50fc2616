import { require as requireTypeScript } from 'tsx/cjs/api';

interface Holder {
  musterTestServer?: { templateUrl: string; stop(): Promise<void> };
}

/**
 * Runs once, outside of jest's module system, which is why the sources are loaded by tsx here.
 * MUSTER_TEST_SERVER_URL names another PostgreSQL to test against (a superuser's URL).
 */
module.exports = async function globalSetup(): Promise<void> {
  const loaded: typeof import('./test-server.js') = requireTypeScript(
    './test-server.ts',
    __filename,
  );
  const server = await loaded.startTestServer(process.env.MUSTER_TEST_SERVER_URL);
  process.env.MUSTER_TEST_DATABASE_URL = server.templateUrl;
  (globalThis as Holder).musterTestServer = server;
};
