// An admin may name things as they like: no name becomes part of a page.
import { assertTexts, markup, watchTexts } from '../support/hostile-texts.mjs';
import { assertEqual, open } from '../support/steps.mjs';

async function create({ lab }, type, attributes) {
  return (await lab.api('POST', `/${type}`, { data: { type, attributes } })).data.id;
}

/** What can be chosen is in the page, although a browser draws it apart. */
async function assertChoice(select, name) {
  const labels = await select.locator('option').allTextContents();
  assertEqual(labels.includes(markup(name)), true, `${name} among ${labels}`);
}

export const TASKS = {
  'markup in the names of tags and groups is shown as text': async (session) => {
    const { page } = session;
    await watchTexts(session);
    await create(session, 'tags', { name: markup('tag') });
    const group = await create(session, 'device_groups', { name: markup('group'), kind: 'static' });
    const rule = [{ name: 'hostname', op: 'eq', val: markup('value') }];
    const attributes = { name: markup('smart'), kind: 'smart', rule };
    const smart = await create(session, 'device_groups', attributes);
    await open(session, '/groups/tags');
    await assertTexts(session, ['tag'], 'the list of tags');
    await page.getByRole('button', { name: `Delete ${markup('tag')}` }).click();
    await page.getByRole('dialog').getByText(markup('tag')).first().waitFor();
    await assertTexts(session, ['tag'], 'the question before a tag is deleted');
    await page.keyboard.press('Escape');
    await open(session, '/groups');
    await assertTexts(session, ['group', 'smart'], 'the list of groups');
    for (const [id, name] of [
      [group, 'group'],
      [smart, 'smart'],
    ]) {
      await open(session, `/groups/${id}`);
      await page.getByRole('heading', { level: 1, name: markup(name) }).waitFor();
      await page.waitForFunction(() => document.querySelector('.skeleton') === null);
      await assertTexts(session, [name], 'a group');
    }
    assertEqual(
      await page.getByLabel('Value', { exact: true }).inputValue(),
      markup('value'),
      'value of the rule',
    );
    await chooseNames(session, group);
    await open(session, '/settings/audit');
    await page.getByRole('row').nth(1).waitFor();
    await assertTexts(session, [], 'the audit trail');
  },

  'markup in the name of a saved view is shown as text': async (session) => {
    const { page } = session;
    await watchTexts(session);
    await create(session, 'saved_views', { name: markup('view'), path: '/devices?q=mini' });
    await open(session, '/devices');
    await page.getByRole('button', { name: 'Saved views' }).click();
    await assertTexts(session, ['view'], 'the saved views');
    await page.getByRole('button', { name: `Delete the view ${markup('view')}` }).click();
    await page.getByRole('dialog').getByText(markup('view')).first().waitFor();
    await assertTexts(session, ['view'], 'the question before a view is removed');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete the view' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  },
};

/** Where tags and groups are chosen, and as filters of the list. */
async function chooseNames(session, group) {
  const { page } = session;
  const filters = [`tags~has~${markup('tag')}`, `device_groups~has~${group} ${markup('group')}`];
  await open(session, `/devices?f=${encodeURIComponent(JSON.stringify(filters))}`);
  await page.getByText('No device matches').waitFor();
  await assertTexts(session, ['tag', 'group'], 'the filters of the list');
  await page.getByRole('button', { name: '+ Add filter' }).click();
  const dialog = page.getByRole('dialog');
  for (const [label, name] of [
    ['Tags', 'tag'],
    ['Groups', 'group'],
  ]) {
    await dialog.getByLabel('Attribute').selectOption({ label });
    await dialog.getByLabel('Value').locator('option').first().waitFor({ state: 'attached' });
    await assertChoice(dialog.getByLabel('Value'), name);
  }
  await assertTexts(session, [], 'the choice of a filter');
}
