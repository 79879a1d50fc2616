import { allTokens, createToken, revokeToken } from '../../src/auth/api-tokens.js';
import { TokenVerifier } from '../../src/auth/token-verifier.js';
import { connectDatabase, type Database } from '../../src/db/connection/database.js';
import { ChangeFeed } from '../../src/db/processes/change-feed.js';
import { AppError } from '../../src/errors.js';
import type { RequestContext, Role } from '../../src/jsonapi/context.js';
import { createTestDatabase } from '../helpers/database.js';
import { capturingLogger } from '../http/log-lines.js';

type TestDatabase = Awaited<ReturnType<typeof createTestDatabase>>;

const CONTEXT: RequestContext = {
  requestId: 'request-7',
  actor: { name: 'root', role: 'admin' },
  sourceAddress: '192.0.2.1',
};
const NEVER = { id: 2 ** 31 };
const REAL_TIMERS = [
  'setTimeout',
  'clearTimeout',
  'setInterval',
  'clearInterval',
  'setImmediate',
  'clearImmediate',
  'nextTick',
  'queueMicrotask',
  'performance',
] as const;

describe('tokens', () => {
  const { logger, lines } = capturingLogger();
  let test: TestDatabase;
  /** Another process, in the eyes of PostgreSQL. */
  let elsewhere: Database;

  beforeAll(async () => {
    test = await createTestDatabase();
    elsewhere = connectDatabase({ connectionString: test.connectionString });
  });
  afterAll(async () => {
    await elsewhere.close();
    await test.drop();
  });

  function verifier(adminToken?: string) {
    return new TokenVerifier({ db: test.db, logger, adminToken });
  }

  function create(role: Role = 'viewer', expiresAt: Date | null = null) {
    return createToken(test.db, { name: `a ${role}`, role, expiresAt }, CONTEXT);
  }

  describe('a new token', () => {
    it.each([
      ['without a name', { name: '' }, '/data/attributes/name'],
      [
        'with a name of digits, which would look like an id',
        { name: '12' },
        '/data/attributes/name',
      ],
      ['with a line break in its name', { name: 'a\nb' }, '/data/attributes/name'],
      ['with a name over 100 characters', { name: 'x'.repeat(101) }, '/data/attributes/name'],
      ['with an unknown role', { role: 'owner' as Role }, '/data/attributes/role'],
      ['that has expired', { expiresAt: new Date(0) }, '/data/attributes/expires_at'],
      ['with no real date', { expiresAt: new Date('x') }, '/data/attributes/expires_at'],
    ])('is refused %s', async (_case, wrong, pointer) => {
      const before = await allTokens(test.db);
      const input = { name: 'ci', role: 'viewer' as const, ...wrong };
      await expect(createToken(test.db, input, CONTEXT)).rejects.toMatchObject({
        code: 'validation_failed',
        status: 422,
        details: [{ source: { pointer } }],
      });
      expect(await allTokens(test.db)).toEqual(before);
    });

    it('has 256 random bits behind a prefix, and only its hash is stored', async () => {
      const { token, row } = await create();
      expect(token).toMatch(/^mst_[\w-]{43}$/);
      expect((await create()).token).not.toBe(token);
      const stored = await test.db.knex('tokens').where({ id: row.id }).first();
      expect(stored.token_hash).toHaveLength(32);
      expect(JSON.stringify(Object.values(stored).map(String))).not.toContain(token);
    });

    it('leaves an audit line without the token', async () => {
      const { token, row } = await create('operator');
      const events = await test.db.knex('audit_events').where({ target_id: String(row.id) });
      expect(events).toEqual([
        expect.objectContaining({
          actor: 'root',
          role: 'admin',
          source_address: '192.0.2.1',
          action: 'tokens.create',
          target_type: 'tokens',
          request_id: 'request-7',
          outcome: 'success',
          details: { changes: { name: [null, 'a operator'], role: [null, 'operator'] } },
        }),
      ]);
      expect(JSON.stringify(events)).not.toContain(token);
    });
  });

  describe('verification', () => {
    it('rejects a token that was never created', async () => {
      const tokens = verifier();
      expect(await tokens.verify('mst_unknown')).toBeNull();
      expect(await tokens.verify('')).toBeNull();
      await tokens.close();
    });

    it('finds a valid token amid a flood of unknown ones, with few statements', async () => {
      const tokens = verifier();
      const { token, row } = await create('operator');
      let statements = 0;
      const count = () => {
        statements += 1;
      };
      test.db.knex.on('query', count);
      const flood = Array.from({ length: 2000 }, (_, i) => tokens.verify(`mst_unknown-${i}`));
      expect(await tokens.verify(token)).toEqual({
        name: 'a operator',
        role: 'operator',
        tokenId: row.id,
      });
      expect(new Set(await Promise.all(flood))).toEqual(new Set([null]));
      expect(statements).toBeLessThanOrEqual(6);
      await Promise.all(Array.from({ length: 2000 }, (_, i) => tokens.verify(`mst_unknown-${i}`)));
      expect(statements).toBeLessThanOrEqual(6);
      test.db.knex.removeListener('query', count);
      await tokens.close();
    });

    it('rejects a revoked token at once, even one that was just accepted', async () => {
      const tokens = verifier();
      const { token, row } = await create();
      expect(await tokens.verify(token)).not.toBeNull();
      await tokens.revoke({ id: row.id }, CONTEXT);
      expect(await tokens.verify(token)).toBeNull();
      await tokens.close();
    });

    it('does not accept a token that is revoked during its look-up', async () => {
      const tokens = verifier();
      const { token, row } = await create();
      const lookup = tokens.verify(token);
      await tokens.revoke({ id: row.id }, CONTEXT);
      await lookup;
      expect(await tokens.verify(token)).toBeNull();
      await tokens.close();
    });

    it('rejects an expired token, even one in the cache', async () => {
      const tokens = verifier();
      const { token, row } = await create('viewer', new Date(Date.now() + 300));
      const actor = { name: 'a viewer', role: 'viewer', tokenId: row.id };
      expect(await tokens.verify(token)).toEqual(actor);
      await new Promise((resolve) => setTimeout(resolve, 320));
      expect(await tokens.verify(token)).toBeNull();
      await tokens.close();
    });

    describe('in another process', () => {
      beforeEach(() => {
        // The clock stands still, so that nothing is forgotten because it is old.
        jest.useFakeTimers({ now: Date.now(), doNotFake: [...REAL_TIMERS] });
      });
      afterEach(() => {
        jest.useRealTimers();
      });

      async function untilRefused(tokens: TokenVerifier, token: string): Promise<void> {
        for (let attempt = 0; attempt < 1_000; attempt += 1) {
          if ((await tokens.verify(token)) === null) return;
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
        throw new Error('the token was still admitted, seconds after its end');
      }

      it.each<[string, (id: number) => unknown]>([
        ['a revocation', (id) => revokeToken(elsewhere, { id }, CONTEXT)],
        ['the deletion', (id) => elsewhere.knex('tokens').where({ id }).delete()],
        [
          'an earlier end',
          (id) =>
            elsewhere
              .knex('tokens')
              .where({ id })
              .update({ expires_at: new Date(0) }),
        ],
      ])('notices %s at once', async (_what, end) => {
        const changes = new ChangeFeed({ db: test.db, logger });
        const tokens = new TokenVerifier({ db: test.db, logger, changes });
        await changes.start();
        const { token, row } = await create();
        expect(await tokens.verify(token)).not.toBeNull();
        await end(row.id);
        await untilRefused(tokens, token);
        await tokens.close();
        await changes.stop();
      });

      it('notices a revocation within seconds without a notification', async () => {
        const tokens = verifier();
        const { token, row } = await create();
        await tokens.verify(token);
        await revokeToken(elsewhere, { id: row.id }, CONTEXT);
        expect(await tokens.verify(token)).not.toBeNull();
        jest.advanceTimersByTime(5_001);
        expect(await tokens.verify(token)).toBeNull();
        await tokens.close();
      });
    });

    it('fails, instead of rejecting the token, when there is no database', async () => {
      const db = connectDatabase({ connectionString: test.connectionString });
      await db.close();
      const tokens = new TokenVerifier({ db, logger });
      await expect(tokens.verify('mst_x')).rejects.toBeInstanceOf(AppError);
      await tokens.close();
    });

    it('accepts a valid token with its name and role, looked up once for many calls', async () => {
      const tokens = verifier();
      const { token, row } = await create('operator');
      const actor = { name: 'a operator', role: 'operator', tokenId: row.id };
      const statements: string[] = [];
      const listen = ({ sql }: { sql: string }) => void statements.push(sql);
      test.db.knex.on('query', listen);
      for (let i = 0; i < 10; i += 1) {
        expect(await tokens.verify(token)).toEqual(actor);
      }
      test.db.knex.removeListener('query', listen);
      expect(statements).toHaveLength(1);
      await tokens.close();
    });

    it('accepts exactly the ADMIN_TOKEN of the environment, and the stored tokens', async () => {
      const tokens = verifier('correct horse battery');
      const { token, row } = await create();
      expect(await tokens.verify('correct horse batterx')).toBeNull();
      expect(await tokens.verify('correct horse battery')).toEqual({
        name: 'ADMIN_TOKEN',
        role: 'admin',
      });
      const actor = { name: 'a viewer', role: 'viewer', tokenId: row.id };
      expect(await tokens.verify(token)).toEqual(actor);
      await tokens.close();
    });
  });

  describe('the time of the last use', () => {
    it('is stored when the verifier closes', async () => {
      const tokens = verifier();
      const used = await create();
      const unused = await create();
      const before = Date.now();
      await tokens.verify(used.token);
      await tokens.verify(used.token);
      await tokens.close();
      const rows = new Map((await allTokens(test.db)).map((row) => [row.id, row.last_used_at]));
      expect(rows.get(used.row.id)?.getTime()).toBeGreaterThanOrEqual(before);
      expect(rows.get(unused.row.id)).toBeNull();
    });

    it('is never set back', async () => {
      const { token, row } = await create();
      const future = new Date('2040-01-01T00:00:00Z');
      await test.db.knex('tokens').where({ id: row.id }).update({ last_used_at: future });
      const tokens = verifier();
      await tokens.verify(token);
      await tokens.close();
      const stored = (await allTokens(test.db)).find(({ id }) => id === row.id);
      expect(stored?.last_used_at).toEqual(future);
    });

    it('waits in memory, with a warning, while it cannot be stored', async () => {
      const { token } = await create();
      const db = connectDatabase({ connectionString: test.connectionString });
      const tokens = new TokenVerifier({ db, logger });
      await tokens.verify(token);
      await db.close();
      lines.length = 0;
      await tokens.close();
      expect(lines).toEqual([expect.objectContaining({ level: 40 })]);
    });
  });

  describe('revocation', () => {
    it('answers 404 for an id or a name that no valid token has', async () => {
      for (const selector of [NEVER, { name: 'never made' }]) {
        await expect(revokeToken(test.db, selector, CONTEXT)).rejects.toMatchObject({
          code: 'not_found',
          status: 404,
        });
      }
    });

    it('answers 404 the second time', async () => {
      const { row } = await create();
      await revokeToken(test.db, { id: row.id }, CONTEXT);
      await expect(revokeToken(test.db, { id: row.id }, CONTEXT)).rejects.toMatchObject({
        status: 404,
      });
    });

    it('revokes every token of a name, with one audit line for each', async () => {
      const input = { name: 'laptop', role: 'viewer' as const };
      const ids = [
        (await createToken(test.db, input, CONTEXT)).row.id,
        (await createToken(test.db, input, CONTEXT)).row.id,
      ];
      const rows = await revokeToken(test.db, { name: 'laptop' }, CONTEXT);
      expect(new Set(rows.map(({ id }) => id))).toEqual(new Set(ids));
      const events = await test.db
        .knex('audit_events')
        .where({ action: 'tokens.revoke' })
        .whereIn('target_id', ids.map(String));
      expect(events).toHaveLength(2);
    });
  });
});
