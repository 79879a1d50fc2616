import { linkCreate, linkList } from '../../src/cli/link/link.js';
import { changeLinks, type LinkChange } from '../../src/cli/link/link-changes.js';
import { SecretBox } from '../../src/crypto/secrets/secret-box.js';
import { findLinkByToken } from '../../src/db/enroll/enrollment-link-repository.js';
import { MASTER_KEY, PUBLIC_URL } from '../helpers/app.js';
import { createTestDatabase, type TestDatabase } from '../helpers/database.js';

const box = new SecretBox(MASTER_KEY);
let test: TestDatabase;
let output: string[] = [];
const write = (line: string) => void output.push(line);

beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());
beforeEach(() => {
  output = [];
});

const opened = () => ({ db: test.db, box, publicUrl: PUBLIC_URL });
const links = () => test.db.knex('enrollment_links');

function tokenIn(line = ''): string {
  return new URL(line).searchParams.get('token') ?? '';
}

describe('muster link', () => {
  it.each([
    ['no name', { name: '' }, '--name must have 1 to 255 characters'],
    ['a tag that is not there', { name: 'x', tag: ['no such'] }, 'there is no tag "no such"'],
    ['a smart group', { name: 'x', group: 'smart' }, 'the rule of the smart group "smart" decides'],
    ['a group that is not there', { name: 'x', group: 'none' }, 'there is no device group "none"'],
    ['more uses than are counted', { name: 'x', maxUses: 2 ** 31 }, '--max-uses is too large'],
    ['an end in the past', { name: 'x', expires: '2020-01-01' }, '--expires must be in the future'],
    [
      'an end that is no time',
      { name: 'x', expires: 'soon' },
      'soon is neither like 30d nor a date',
    ],
  ])('create refuses %s', async (_case, args, message) => {
    const smart = { name: 'smart', kind: 'smart', rule: '[]' };
    await test.db.knex('device_groups').insert(smart).onConflict('name').ignore();
    await expect(linkCreate(opened(), args, write)).rejects.toThrow(message);
    expect(output).toEqual([]);
    expect(await links()).toEqual([]);
    expect(await test.db.knex('audit_events')).toEqual([]);
  });

  it('create prints the address alone on the first line', async () => {
    await linkCreate(opened(), { name: 'Lobby' }, write);
    expect(output).toEqual([
      expect.stringMatching(/^https:\/\/mdm\.example\.com\/enroll\/\?token=[\w-]{32}$/),
      expect.stringMatching(/^id \d+, uses 0 of any number, expires never$/),
    ]);
    const link = await findLinkByToken(test.db.knex, tokenIn(output[0]));
    expect(link).toMatchObject({ name: 'Lobby', max_uses: null, uses: 0, is_disabled: false });
  });

  it('create accepts uses, an expiry, tags and a group', async () => {
    const tags = await test.db.knex('tags').insert([{ name: 'a' }, { name: 'b' }], 'id');
    const [group] = await test.db.knex('device_groups').insert({ name: 'Kiosks' }, 'id');
    const args = { name: 'Kiosks', maxUses: 5, expires: '7d', tag: ['b', 'A', 'B'] };
    await linkCreate(opened(), { ...args, group: 'Kiosks' }, write);
    expect(output[1]).toMatch(/^id \d+, uses 0 of 5, expires \d{4}-/);
    const link = await links().where({ name: 'Kiosks' }).first();
    expect([link.max_uses, link.device_group_id]).toEqual([5, group.id]);
    expect(Math.abs(link.expires_at.getTime() - Date.now() - 7 * 86_400_000)).toBeLessThan(10_000);
    const applied = await test.db
      .knex('enrollment_link_tags')
      .where({ enrollment_link_id: link.id })
      .orderBy('tag_id')
      .pluck('tag_id');
    expect(applied).toEqual(tags.map(({ id }) => id));
  });

  it('create leaves an audit line by the actor cli, without the token', async () => {
    await linkCreate(opened(), { name: 'Audited' }, write);
    const { id } = await links().where({ name: 'Audited' }).first('id');
    const events = await test.db.knex('audit_events').where({ target_id: String(id) });
    expect(events).toMatchObject([
      {
        actor: 'cli',
        action: 'enrollment_links.create',
        target_type: 'enrollment_links',
        details: { changes: { name: [null, 'Audited'] } },
      },
    ]);
    expect(JSON.stringify(events)).not.toContain(tokenIn(output[0]));
  });

  it('list shows every link with its state and its address', async () => {
    await linkCreate(opened(), { name: 'Spent', maxUses: 2 }, write);
    const [url = ''] = output;
    await links().where({ name: 'Spent' }).update({ uses: 2 });
    output = [];
    await linkList(opened(), {}, write);
    expect(output[0]).toMatch(/^ID +NAME +STATE +USES +EXPIRES +LAST USED +URL$/);
    const line = output.find((text) => text.includes('Spent'));
    expect(line).toMatch(/^\d+ +Spent +spent +2\/2 +never +never +https:/);
    expect(line?.endsWith(url)).toBe(true);
    expect(output).toHaveLength((await links()).length + 1);
  });

  const change = (link: string, how: LinkChange) =>
    changeLinks(opened(), { link, change: how }, write);

  it.each(['disable', 'enable', 'delete'] as const)(
    '%s refuses an unknown link, and changes none',
    async (how) => {
      await linkCreate(opened(), { name: 'Stays' }, write);
      const before = await links();
      for (const link of ['No such link', '987654321']) {
        await expect(change(link, how)).rejects.toThrow(`there is no link ${link}`);
      }
      expect(await links()).toEqual(before);
    },
  );

  it('disable and enable switch the link of an id, or all of a name, with an audit line', async () => {
    for (const name of ['Switch', 'Switch', 'Other']) await linkCreate(opened(), { name }, write);
    const ids = await links().where({ name: 'Switch' }).orderBy('id').pluck('id');
    const disabled = () => links().where({ is_disabled: true }).orderBy('id').pluck('id');
    output = [];
    await change('Switch', 'disable');
    expect(output).toEqual(ids.map((id) => `disabled ${id} Switch`));
    expect(await disabled()).toEqual(ids);
    await change(String(ids[0]), 'enable');
    expect(output[2]).toBe(`enabled ${ids[0]} Switch`);
    expect(await disabled()).toEqual([ids[1]]);
    const events = await test.db
      .knex('audit_events')
      .where({ action: 'enrollment_links.update', target_id: String(ids[0]) })
      .orderBy('id');
    expect(events).toMatchObject([
      { actor: 'cli', details: { name: 'Switch', changes: { is_disabled: [false, true] } } },
      { actor: 'cli', details: { name: 'Switch', changes: { is_disabled: [true, false] } } },
    ]);
  });

  it('delete deletes the link, with an audit line', async () => {
    await linkCreate(opened(), { name: 'Gone' }, write);
    const { id } = await links().where({ name: 'Gone' }).first('id');
    output = [];
    await change('Gone', 'delete');
    expect(output).toEqual([`deleted ${id} Gone`]);
    expect(await links().where({ id })).toEqual([]);
    const events = test.db.knex('audit_events').where({ target_id: String(id) });
    expect(await events.where({ action: 'enrollment_links.delete' })).toMatchObject([
      { details: { changes: { name: ['Gone', null], uses: [0, null] } } },
    ]);
  });
});
