// The list of devices.
import { readFileSync } from 'node:fs';
import { assertEqual, open, tabTo } from '../support/steps.mjs';

async function openList(session, query = '') {
  await open(session, `/devices${query}`);
  await session.page.getByRole('row').nth(1).waitFor();
}

const cellsOf = (page, column) =>
  page
    .getByRole('row')
    .evaluateAll((rows, at) => rows.slice(1).map((row) => row.children[at].textContent), column);

const devices = (count) => (count === 1 ? '1 device' : `${count} devices`);

async function countOf({ lab }, filter = '') {
  return (await lab.api('GET', `/devices?page[size]=1${filter}`)).meta.total;
}

export const TASKS = {
  'a device is found by half of its serial number, also after a reload': async (session) => {
    const { page } = session;
    await openList(session);
    const serial = await page.getByRole('row').nth(2).getByRole('gridcell').nth(2).textContent();
    await page.keyboard.press('/');
    await page.keyboard.type(serial.slice(3).toLowerCase());
    await page.getByText('1 device', { exact: true }).waitFor();
    await page.reload();
    await page.getByRole('row').nth(1).getByText(serial).waitFor();
    await page.getByText('1 device', { exact: true }).waitFor();
  },

  'a row opens in another tab with Control': async (session) => {
    const { page } = session;
    await openList(session);
    const [other] = await Promise.all([
      page.context().waitForEvent('page'),
      page
        .getByRole('row')
        .nth(1)
        .click({ modifiers: ['Control'] }),
    ]);
    await other.waitForURL(/\/devices\/\d+$/);
    await other.close();
    assertEqual(new URL(page.url()).pathname, '/devices', 'the list stays');
  },

  'the default columns fit the window': async (session) => {
    await openList(session);
    const grid = session.page.getByRole('grid');
    const hidden = await grid.evaluate((table) => table.scrollWidth - table.clientWidth);
    assertEqual(hidden, 0, 'hidden pixels');
  },

  'a filter narrows the list and is removed again': async (session) => {
    const { page } = session;
    const macs = await countOf(session, '&filter[platform]=macOS');
    const all = await countOf(session);
    await openList(session);
    await page.getByRole('button', { name: '+ Add filter' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Attribute').selectOption({ label: 'Platform' });
    await dialog.getByLabel('Value').selectOption('macOS');
    await dialog.getByRole('button', { name: 'Add filter' }).click();
    await page.getByText(devices(macs), { exact: true }).waitFor();
    const platforms = new Set(await cellsOf(page, 4));
    assertEqual([...platforms].join(), 'macOS', 'platforms that are shown');
    await page.getByRole('button', { name: 'Remove the filter Platform is macOS' }).click();
    await page.getByText(devices(all), { exact: true }).waitFor();
  },

  'devices are found by an application, and by a tag': async (session) => {
    const { page, lab } = session;
    await lab.api('POST', '/tags', { data: { type: 'tags', attributes: { name: 'Reception' } } });
    await openList(session);
    await page.getByRole('button', { name: '+ Add filter' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Attribute').selectOption({ label: 'Applications' });
    await dialog.getByLabel('Value').fill('com.apple.Safari');
    await dialog.getByRole('button', { name: 'Add filter' }).click();
    await page.getByText('Applications include com.apple.Safari').waitFor();
    await page.getByRole('row').nth(1).getByText('macOS').waitFor();
    await page.getByRole('button', { name: '+ Add filter' }).click();
    await dialog.getByLabel('Attribute').selectOption({ label: 'Tags' });
    const add = dialog.getByRole('button', { name: 'Add filter' });
    await dialog.getByLabel('Value').getByRole('option', { name: 'Reception' }).waitFor({
      state: 'attached',
    });
    assertEqual(await dialog.getByLabel('Value').inputValue(), '', 'the tag before one is chosen');
    assertEqual(await add.isDisabled(), true, 'the button is disabled before a tag is chosen');
    await dialog.getByLabel('Value').selectOption('Reception');
    await add.click();
    await page.getByText('No device matches').waitFor();
    await page.getByRole('button', { name: 'Remove all filters' }).click();
    await page.getByRole('row').nth(2).waitFor();
  },

  'the list is sorted by a heading, in both directions': async (session) => {
    const { page } = session;
    await openList(session);
    const heading = page.getByRole('columnheader', { name: 'Serial number' });
    for (const [direction, sign] of [
      ['ascending', 1],
      ['descending', -1],
    ]) {
      await heading.getByRole('button').click();
      await page.locator(`[role="columnheader"][aria-sort="${direction}"]`).waitFor();
      await page.waitForFunction((sign) => {
        const rows = [...document.querySelectorAll('[role="row"]')].slice(1);
        const serials = rows.map((row) => row.children[2].textContent);
        const sorted = [...serials].sort((a, b) => (a < b ? -sign : sign));
        return serials.length > 2 && serials.join() === sorted.join();
      }, sign);
    }
  },

  'columns are chosen, stand in the address, and are kept in this browser': async (session) => {
    const { page } = session;
    await openList(session);
    await page.getByRole('button', { name: 'Columns' }).click();
    await page.getByRole('checkbox', { name: 'Build' }).check();
    await page.getByRole('checkbox', { name: 'Model' }).uncheck();
    await page.getByRole('button', { name: 'Show these columns' }).click();
    await page.getByRole('columnheader', { name: 'Build' }).waitFor();
    await page.reload();
    await page.getByRole('columnheader', { name: 'Build' }).waitFor();
    assertEqual(
      await page.getByRole('columnheader', { name: 'Model' }).count(),
      0,
      'columns Model',
    );
    await page.getByRole('link', { name: 'Groups' }).click();
    await page.getByRole('heading', { level: 1, name: 'Tags and groups' }).waitFor();
    await page.getByRole('link', { name: 'Devices', exact: true }).click();
    await page.getByRole('columnheader', { name: 'Build' }).waitFor();
    await openList(session, '?cols=["serial_number","platform"]');
    await page.getByRole('columnheader', { name: 'Platform' }).waitFor();
    assertEqual(await page.getByRole('columnheader').count(), 3, 'columns that the address names');
    await page.evaluate(() => localStorage.removeItem('devices.columns'));
  },

  'a column is resized by mouse and by keyboard, also after a reload': async (session) => {
    const { page } = session;
    await openList(session);
    const head = page.getByRole('columnheader', { name: 'Serial number' });
    const edge = page.getByRole('separator', { name: 'Width of Serial number' });
    const widthOf = async (part) => Math.round((await part.boundingBox()).width);
    const isWide = (width) =>
      page.waitForFunction(
        (wanted) =>
          Math.round(
            document
              .querySelector('[role="columnheader"][aria-label="Serial number"]')
              ?.getBoundingClientRect().width,
          ) === wanted,
        width,
      );
    const first = await widthOf(head);
    const { x, y, width, height } = await edge.boundingBox();
    await page.mouse.move(x + width / 2, y + height / 2);
    await page.mouse.down();
    await page.mouse.move(x + width / 2 + 40, y + height / 2, { steps: 4 });
    await page.mouse.up();
    await isWide(first + 40);
    await page.reload();
    await isWide(first + 40);
    const cell = page.getByRole('row').nth(1).getByRole('gridcell').nth(2);
    assertEqual(await widthOf(cell), first + 40, 'width of the cell below');
    await edge.focus();
    await page.keyboard.press('ArrowLeft');
    await isWide(first + 24);
    await page.keyboard.press('Delete');
    await isWide(first);
    assertEqual(new URL(page.url()).searchParams.get('w'), null, 'widths in the address');
  },

  'all that match are selected, by keyboard': async (session) => {
    const { page } = session;
    const all = await countOf(session);
    await openList(session);
    await tabTo(page, page.getByRole('row').nth(1));
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Space');
    await page.getByText('1 selected').waitFor();
    const button = page.getByRole('button', { name: `Select all that match (${devices(all)})` });
    await page.getByRole('heading', { level: 1 }).focus();
    await tabTo(page, button);
    await page.keyboard.press('Enter');
    await page.getByText(`All that match: ${devices(all)}`).waitFor();
    assertEqual(await page.locator('[role="row"][aria-selected="false"]').count(), 0, 'others');
    await page.getByRole('button', { name: 'Unselect' }).click();
    await page.getByText('All that match').waitFor({ state: 'detached' });
  },

  'rows stay where they are while one is selected and a search is typed': async (session) => {
    const { page } = session;
    await openList(session);
    const row = page.getByRole('row').nth(2);
    const top = async () => (await row.boundingBox()).y;
    const before = await top();
    await row.getByRole('checkbox').check();
    await page.getByText('1 selected').waitFor();
    assertEqual(await top(), before, 'top of the row with a selection');
    await session.assertAccessible();
    await page.getByRole('button', { name: 'Unselect' }).click();
    await page.getByRole('searchbox').fill('a');
    await page.getByRole('status').getByText('Type at least 3 characters').waitFor();
    assertEqual(await top(), before, 'top of the row with a short search');
    await page.getByRole('searchbox').fill('');
  },

  'a list that has not changed is asked for, but not sent again': async (session) => {
    const { page, lab } = session;
    const tag = { type: 'tags', attributes: { name: 'Polled' } };
    await lab.api('POST', '/tags', { data: tag });
    const answers = [];
    const listen = (response) => {
      const { pathname } = new URL(response.url());
      if (pathname === '/api/v1/tags') answers.push(response.status());
    };
    page.on('response', listen);
    try {
      await open(session, '/groups/tags');
      const row = page.getByRole('row', { name: /Polled/ });
      await row.waitFor();
      await row.evaluate((element) => {
        globalThis.changes = 0;
        new MutationObserver((records) => {
          globalThis.changes += records.length;
        }).observe(element, { subtree: true, childList: true, characterData: true });
      });
      const before = answers.length;
      await lab.until(() => answers.length >= before + 2);
      assertEqual(
        answers.slice(before, before + 2).join(),
        '304,304',
        'answers to a list as before',
      );
      assertEqual(await page.evaluate(() => globalThis.changes), 0, 'changes of the row');
      tag.attributes.name = 'Polled again';
      await lab.api('POST', '/tags', { data: tag });
      await page.getByRole('row', { name: /Polled again/ }).waitFor();
      assertEqual(answers.at(-1), 200, 'the answer with the new tag');
    } finally {
      page.off('response', listen);
    }
  },

  'a device is opened by keyboard': async (session) => {
    const { page } = session;
    await openList(session);
    const name = await page.getByRole('row').nth(2).getByRole('gridcell').nth(1).textContent();
    await tabTo(page, page.getByRole('row').nth(1));
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name }).waitFor();
  },

  'the list is saved as CSV with its columns': async (session) => {
    const { page } = session;
    await openList(session, '?cols=["serial_number","platform"]');
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'CSV' }).click();
    const file = await (await saved).path();
    const lines = readFileSync(file, 'utf8').trim().split(/\r?\n/);
    assertEqual(lines[0], 'id,device_name,serial_number,platform', 'head of the file');
    assertEqual(lines.length - 1, await countOf(session), 'lines of the file');
  },
};
