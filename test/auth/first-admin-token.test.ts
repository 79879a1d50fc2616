import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { allTokens, revokeToken } from '../../src/auth/api-tokens.js';
import { ensureAdminToken } from '../../src/auth/first-admin-token.js';
import { TokenVerifier } from '../../src/auth/token-verifier.js';
import type { RequestContext } from '../../src/jsonapi/context.js';
import { createTestDatabase } from '../helpers/database.js';
import { capturingLogger } from '../http/log-lines.js';

const CONTEXT: RequestContext = {
  requestId: 'r',
  actor: { name: 'cli', role: 'admin' },
  sourceAddress: null,
};

describe('the admin token of the first start', () => {
  const { logger, lines, text } = capturingLogger();
  let test: Awaited<ReturnType<typeof createTestDatabase>>;
  let dataDir: string;

  beforeEach(async () => {
    lines.length = 0;
    test = await createTestDatabase();
    dataDir = await mkdtemp(join(tmpdir(), 'muster-token-'));
  });
  afterEach(async () => {
    await test.drop();
    await rm(dataDir, { recursive: true });
  });

  const ensure = (dir = dataDir) => ensureAdminToken({ db: test.db, dataDir: dir, logger });

  async function actorOfFile() {
    const tokens = new TokenVerifier({ db: test.db, logger });
    const actor = await tokens.verify(
      (await readFile(join(dataDir, 'admin-token'), 'utf8')).trim(),
    );
    await tokens.close();
    return actor;
  }

  it('leaves no row behind when the file cannot be written', async () => {
    await expect(ensure('/dev/null/data')).rejects.toThrow();
    expect(await allTokens(test.db)).toEqual([]);
  });

  it('the token is written once, for its owner only, and the log names its file, not its value', async () => {
    const file = await ensure();
    expect(file).toBe(join(dataDir, 'admin-token'));
    expect((await stat(join(dataDir, 'admin-token'))).mode & 0o777).toBe(0o600);
    expect(await readdir(dataDir)).toEqual(['admin-token']);
    expect(await actorOfFile()).toEqual({
      name: 'admin (first start)',
      role: 'admin',
      tokenId: expect.any(Number),
    });
    expect(lines).toEqual([expect.objectContaining({ level: 30, file })]);
    expect(text()).not.toContain('mst_');
    const events = await test.db.knex('audit_events').select('actor', 'action');
    expect(events).toEqual([{ actor: 'system', action: 'tokens.create' }]);
  });

  it('makes the data directory when it is not there yet', async () => {
    await ensure(join(dataDir, 'new', 'data'));
    const { mode } = await stat(join(dataDir, 'new', 'data'));
    expect(mode & 0o777).toBe(0o700);
  });

  it('is not made again on the next start', async () => {
    await ensure();
    const before = await readFile(join(dataDir, 'admin-token'));
    expect(await ensure()).toBeUndefined();
    expect(await readFile(join(dataDir, 'admin-token'))).toEqual(before);
    expect(await allTokens(test.db)).toHaveLength(1);
  });

  it('is not made again when only the file is gone', async () => {
    await ensure();
    await rm(join(dataDir, 'admin-token'));
    expect(await ensure()).toBeUndefined();
    expect(await readdir(dataDir)).toEqual([]);
  });

  it('is made again when no admin token is left', async () => {
    await ensure();
    const [row] = await allTokens(test.db);
    await revokeToken(test.db, { id: row?.id ?? 0 }, CONTEXT);
    expect(await ensure()).toBe(join(dataDir, 'admin-token'));
    expect(await actorOfFile()).toEqual({
      name: 'admin (first start)',
      role: 'admin',
      tokenId: expect.any(Number),
    });
  });

  it('is made once by processes that start at the same time', async () => {
    const files = await Promise.all([ensure(), ensure(), ensure()]);
    expect(files.filter((file) => file !== undefined)).toHaveLength(1);
    expect(await allTokens(test.db)).toHaveLength(1);
    expect(await actorOfFile()).not.toBeNull();
  });
});
