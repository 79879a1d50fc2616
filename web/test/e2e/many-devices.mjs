// What is done to all devices that match, and views of the list that are kept.
import { assertEqual, open, tabTo } from '../support/steps.mjs';

const HALL = 'HALL-';
const COUNT = 200;
const chips = (...list) => `/devices?f=${encodeURIComponent(JSON.stringify(list))}`;
const IN_HALL = chips(`asset_tag~startswith~${HALL}`);

async function addHall({ lab }) {
  await addDevices(lab, HALL, COUNT);
}

/** As many devices with asset tags that start so. */
async function addDevices(lab, prefix, count) {
  const filter = encodeURIComponent(
    JSON.stringify([{ name: 'asset_tag', op: 'startswith', val: prefix }]),
  );
  const { meta } = await lab.api('GET', `/devices?page[size]=1&filter=${filter}`);
  const create = (index) => {
    const serial = `${prefix.replace('-', '')}WEB${1000 + index}`;
    const attributes = { serial_number: serial, asset_tag: `${prefix}${index}` };
    return lab.api('POST', '/devices', { data: { type: 'devices', attributes } });
  };
  for (let index = meta.total; index < count; index += 20) {
    const length = Math.min(20, count - index);
    await Promise.all(Array.from({ length }, (_, step) => create(index + step)));
  }
}

async function selectAll({ page }, press) {
  await page.getByText(`${COUNT} devices`, { exact: true }).waitFor();
  await press(page.getByRole('row').nth(1), 'Space');
  await page.getByText('1 selected').waitFor();
  await press(page.getByRole('button', { name: `Select all that match (${COUNT} devices)` }));
  await page.getByText(`All that match: ${COUNT} devices`).waitFor();
}

async function membersOf({ lab }, name) {
  const { data } = await lab.api('GET', `/tags?filter[name]=${encodeURIComponent(name)}`);
  const { meta } = await lab.api('GET', `/tags/${data[0].id}/devices?page[size]=1`);
  return meta.total;
}

export const TASKS = {
  'all 200 that match a filter get a tag, and lose it': async (session) => {
    const { page } = session;
    await addHall(session);
    await open(session, IN_HALL);
    await selectAll(session, async (target, key) => {
      if (key === undefined) return target.click();
      await target.focus();
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press(key);
    });
    await page.getByRole('button', { name: 'Tag or group …' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Tag', { exact: true }).selectOption({ label: 'A new tag' });
    await dialog.getByLabel('Name').fill('Hall');
    await session.assertAccessible();
    await dialog.getByRole('button', { name: 'Add 200 devices' }).click();
    await page.getByText('200 devices added to Hall.').waitFor();
    assertEqual(await membersOf(session, 'Hall'), COUNT, 'devices of the tag');
    await page.getByRole('button', { name: 'Tag or group …' }).click();
    await dialog.getByLabel('What to do').selectOption({ label: 'Remove from' });
    await dialog.getByLabel('Tag', { exact: true }).selectOption({ label: 'Hall' });
    await dialog.getByRole('button', { name: 'Remove 200 devices' }).click();
    await page.getByText('200 devices removed from Hall.').waitFor();
    assertEqual(await membersOf(session, 'Hall'), 0, 'devices of the tag');
  },

  'all 200 that match get a tag, by keyboard': async (session) => {
    const { page } = session;
    await addHall(session);
    await open(session, IN_HALL);
    const press = async (target, key = 'Enter') => {
      await page.getByRole('heading', { level: 1 }).focus();
      await tabTo(page, target);
      if (key === 'Space') await page.keyboard.press('ArrowDown');
      await page.keyboard.press(key);
    };
    await selectAll(session, press);
    await press(page.getByRole('button', { name: 'Tag or group …' }));
    const dialog = page.getByRole('dialog');
    const tag = dialog.getByLabel('Tag', { exact: true });
    await tabTo(page, tag);
    await page.keyboard.type('A new tag');
    await tabTo(page, dialog.getByLabel('Name'));
    await page.keyboard.type('Hall by keyboard');
    await page.keyboard.press('Enter');
    await page.getByText('200 devices added to Hall by keyboard.').waitFor();
    assertEqual(await membersOf(session, 'Hall by keyboard'), COUNT, 'devices of the tag');
  },

  'more than 500 get a new tag once their number is typed': async (session) => {
    const { page, lab } = session;
    await addDevices(lab, 'YARD-', 501);
    await open(session, chips('asset_tag~startswith~YARD-'));
    await page.getByText('501 devices', { exact: true }).waitFor();
    await page.getByRole('row').nth(1).getByRole('checkbox').check();
    await page.getByRole('button', { name: 'Select all that match (501 devices)' }).click();
    await page.getByRole('button', { name: 'Tag or group …' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Tag', { exact: true }).selectOption({ label: 'A new tag' });
    await dialog.getByLabel('Name').fill('Yard');
    const button = dialog.getByRole('button', { name: 'Add 501 devices' });
    await button.click();
    const number = dialog.getByLabel('Type 501 to confirm');
    await number.fill('500');
    assertEqual(await button.isDisabled(), true, 'the button is disabled with another number');
    assertEqual(await membersOf(session, 'Yard'), 0, 'devices of the tag before');
    await session.assertAccessible();
    await number.fill('501');
    await button.click();
    await page.getByText('501 devices added to Yard.').waitFor();
    await lab.until(async () => (await membersOf(session, 'Yard')) === 501);
  },

  'the way back from a device leads to where the list was scrolled to': async (session) => {
    const { page } = session;
    await addHall(session);
    await open(session, IN_HALL);
    const grid = page.getByRole('grid');
    const row = page.locator('[data-index="150"]');
    const offset = () => grid.evaluate(({ scrollTop }) => scrollTop);
    await page.getByText(`${COUNT} devices`, { exact: true }).waitFor();
    // One page of rows after the other.
    for (const index of [99, 150]) {
      await grid.evaluate((element, to) => element.scrollTo(0, to), 36 * (index - 5));
      await page.locator(`[data-index="${index}"]`).waitFor();
    }
    await row.scrollIntoViewIfNeeded();
    const before = await offset();
    assertEqual(before > 36 * 100, true, `whether ${before} pixels are beyond the first page`);
    for (const back of [
      () => page.getByRole('link', { name: 'Back to devices' }).click(),
      () => page.goBack(),
    ]) {
      await row.click();
      await page.getByRole('link', { name: 'Back to devices' }).waitFor();
      await back();
      await row.waitFor();
      assertEqual(await offset(), before, 'pixels that the list is scrolled by');
    }
    await page.reload();
    await row.waitFor();
    assertEqual(await offset(), before, 'pixels after a reload');
  },

  'the inventory of all that match is asked for by batches': async (session) => {
    const { page, lab } = session;
    const query = 'filter[is_enrolled]=true&filter[platform]=macOS&page[size]=1';
    const { meta } = await lab.api('GET', `/devices?${query}`);
    const count = meta.total === 1 ? '1 device' : `${meta.total} devices`;
    await open(session, chips('is_enrolled~eq~true', 'platform~eq~macOS'));
    await page.getByText(count, { exact: true }).waitFor();
    await page.getByRole('row').nth(1).getByRole('checkbox').check();
    const all = page.getByRole('button', { name: `Select all that match (${count})` });
    if (meta.total > 1) await all.click();
    await page.getByRole('button', { name: 'Refresh the inventory' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: `Ask ${count}` }).click();
    await page.getByText('batches are queued.').waitFor();
    const { data } = await lab.api('GET', '/command_batches?sort=-id&page[size]=1');
    assertEqual(data[0].attributes.targets.eligible, meta.total, 'devices of the batch');
    await page.getByRole('link', { name: 'Follow them' }).click();
    await page.getByRole('heading', { level: 1, name: 'Commands' }).waitFor();
  },

  'the inventory of more than 500 devices is asked for once their number is typed': async (
    session,
  ) => {
    const { page, lab } = session;
    await lab.query(
      `insert into devices (udid, serial_number, asset_tag, platform, is_enrolled, enrollment_state,
         enrolled_at)
       select gen_random_uuid()::text, 'WING' || n, 'WING-' || n, 'iOS', true, 'enrolled', now()
       from generate_series(1, 501) n`,
    );
    try {
      await open(session, chips('asset_tag~startswith~WING-'));
      await page.getByText('501 devices', { exact: true }).waitFor();
      await page.getByRole('row').nth(1).getByRole('checkbox').check();
      await page.getByRole('button', { name: 'Select all that match (501 devices)' }).click();
      await page.getByRole('button', { name: 'Refresh the inventory' }).click();
      const dialog = page.getByRole('dialog');
      const submit = dialog.getByRole('button', { name: 'Ask 501 devices' });
      await submit.click();
      await dialog.getByText('501 devices match now, which is many.').waitFor();
      assertEqual(await submit.isDisabled(), true, 'the button before the number is typed');
      await dialog.getByLabel('Type 501 to confirm').fill('501');
      await submit.click();
      await page.getByText('batches are queued.').waitFor();
      const { data } = await lab.api('GET', '/command_batches?sort=-id&page[size]=1');
      assertEqual(data[0].attributes.targets.eligible, 501, 'devices of the batch');
    } finally {
      await lab.query(`delete from devices where asset_tag like 'WING-%'`);
    }
  },

  'a view is saved, found by somebody else, and deleted': async (session) => {
    const { page } = session;
    await open(session, `${chips('platform~eq~macOS')}&sort=-serial_number`);
    await page.getByText('Platform is macOS').waitFor();
    await page.getByRole('button', { name: 'Saved views' }).click();
    await page.getByText('No view is saved yet.').waitFor();
    await page.getByRole('button', { name: 'Save this view …' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('Macs, last first');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await open(session, '/devices');
    await page.getByRole('button', { name: 'Saved views' }).click();
    await session.assertAccessible();
    await page.getByRole('link', { name: 'Macs, last first' }).click();
    await page.getByText('Platform is macOS').waitFor();
    await page.locator('[role="columnheader"][aria-sort="descending"]').waitFor();
    await page.getByRole('button', { name: 'Saved views' }).click();
    await page.getByRole('button', { name: 'Delete the view Macs, last first' }).click();
    await page.getByRole('button', { name: 'Delete the view', exact: true }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Saved views' }).click();
    await page.getByText('No view is saved yet.').waitFor();
    await page.keyboard.press('Escape');
  },
};
