import { TokenVerifier } from '../../src/auth/token-verifier.js';
import { tokenCreate, tokenList, tokenRevoke } from '../../src/cli/token.js';
import { createTestDatabase } from '../helpers/database.js';
import { capturingLogger } from '../http/log-lines.js';

describe('muster token', () => {
  let test: Awaited<ReturnType<typeof createTestDatabase>>;
  let output: string[] = [];
  const write = (line: string) => void output.push(line);

  beforeAll(async () => {
    test = await createTestDatabase();
  });
  afterAll(() => test.drop());
  beforeEach(() => {
    output = [];
  });

  async function actorOf(token = '') {
    const { logger } = capturingLogger();
    const tokens = new TokenVerifier({ db: test.db, logger });
    const actor = await tokens.verify(token);
    await tokens.close();
    return actor;
  }

  it.each([
    ['an unknown role', { name: 'x', role: 'root' }],
    ['an expiry that is no time', { name: 'x', role: 'admin', expires: 'soon' }],
    ['an expiry in a unknown unit', { name: 'x', role: 'admin', expires: '3y' }],
    ['an expiry in the past', { name: 'x', role: 'admin', expires: '2020-01-01' }],
    ['an expiry that is no day', { name: 'x', role: 'admin', expires: '2099-13-01' }],
  ])('create refuses %s', async (_case, args) => {
    await expect(tokenCreate(test.db, args, write)).rejects.toMatchObject({ status: 422 });
    expect(output).toEqual([]);
  });

  it('create prints the token alone on the first line', async () => {
    await tokenCreate(test.db, { name: 'ci', role: 'viewer' }, write);
    expect(output).toEqual([
      expect.stringMatching(/^mst_[\w-]{43}$/),
      expect.stringMatching(/^id \d+, role viewer, expires never; not shown again$/),
    ]);
    expect(await actorOf(output[0])).toEqual({
      name: 'ci',
      role: 'viewer',
      tokenId: expect.any(Number),
    });
  });

  it.each([
    ['30d', 30 * 86_400_000],
    ['12h', 12 * 3_600_000],
    ['90m', 90 * 60_000],
  ])('create accepts %s', async (expires, ms) => {
    await tokenCreate(test.db, { name: `for ${expires}`, role: 'viewer', expires }, write);
    const row = await test.db
      .knex('tokens')
      .where({ name: `for ${expires}` })
      .first();
    expect(Math.abs(row.expires_at.getTime() - Date.now() - ms)).toBeLessThan(10_000);
  });

  it('revoke accepts an id or a name, and refuses unknown ones', async () => {
    await tokenCreate(test.db, { name: 'old laptop', role: 'admin' }, write);
    const token = output[0];
    await expect(tokenRevoke(test.db, { token: '999999' }, write)).rejects.toMatchObject({
      status: 404,
    });
    output = [];
    await tokenRevoke(test.db, { token: 'old laptop' }, write);
    expect(output).toEqual([expect.stringMatching(/^revoked \d+ old laptop$/)]);
    expect(await actorOf(token)).toBeNull();
    output = [];
    await tokenCreate(test.db, { name: 'by id', role: 'admin' }, write);
    const id = /^id (\d+)/.exec(output[1] ?? '')?.[1] ?? '';
    await tokenRevoke(test.db, { token: id }, write);
    expect(output.at(-1)).toBe(`revoked ${id} by id`);
  });

  it('list shows every token with its state, and never the token or its hash', async () => {
    await tokenCreate(
      test.db,
      { name: 'until 2099', role: 'operator', expires: '2099-12-31' },
      write,
    );
    output = [];
    await tokenList(test.db, {}, write);
    expect(output[0]).toMatch(/^ID +NAME +ROLE +STATE +CREATED +EXPIRES +LAST USED$/);
    const line = output.find((text) => text.includes('until 2099'));
    expect(line).toMatch(
      /^\d+ +until 2099 +operator +valid +.* 2099-12-31T00:00:00\+00:00 +never$/,
    );
    expect(output.find((text) => text.includes('old laptop'))).toMatch(/ revoked /);
    expect(output.join('\n')).not.toContain('mst_');
  });

  it('leaves an audit line by the actor cli for each change', async () => {
    const events = await test.db.knex('audit_events').where({ actor: 'cli' }).select('action');
    const actions = events.map(({ action }) => action);
    expect(actions.filter((action) => action === 'tokens.revoke')).toHaveLength(2);
    expect(actions).toContain('tokens.create');
  });
});
