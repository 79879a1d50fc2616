// The way back to a list, tabs on a phone, and the requests of a page for a shell.
import { assertEqual, open, tabTo } from '../support/steps.mjs';

const LIST = `/devices?f=${encodeURIComponent(JSON.stringify(['is_enrolled~eq~true']))}&sort=-serial_number`;
const PHONE = { width: 360, height: 800 };
const DESK = { width: 1280, height: 800 };
const CURL = ['/', '/groups', '/groups/tags', '/set-up', '/settings/certificates'];
const SETTINGS = ['organization', 'tokens', 'sessions', 'jobs', 'backups', 'audit'];
const ADDRESS = /^curl .* '(http[^']+)'$/;

const searchOf = (page) => decodeURIComponent(new URL(page.url()).search);

/** Resolves once the current tab stands within its row, which scrolls. */
const waitForCurrent = (page, name) =>
  page.waitForFunction((label) => {
    const tab = document.querySelector('.tab[aria-current]');
    if (tab === null || tab.textContent !== label) return false;
    const { left, right } = tab.getBoundingClientRect();
    const row = tab.parentElement.getBoundingClientRect();
    // The row scrolls by whole pixels.
    return left > row.left - 1 && right < row.right + 1;
  }, name);

export const TASKS = {
  'the way back from a device keeps the list as it was, also after another tab': async (
    session,
  ) => {
    const { page } = session;
    await open(session, LIST);
    await page.getByRole('row').nth(2).waitFor();
    const search = searchOf(page);
    await tabTo(page, page.getByRole('row').nth(1));
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    const tabs = page.getByRole('navigation', { name: 'What is known of the device' });
    await tabs.getByRole('link', { name: 'Commands' }).click();
    await page.reload();
    const back = page.getByRole('link', { name: 'Back to devices' });
    await tabTo(page, back);
    await page.keyboard.press('Enter');
    await page.getByText('Enrolled is yes').waitFor();
    await page.getByRole('row').nth(2).waitFor();
    assertEqual(searchOf(page), search, 'what the address says of the list');
  },

  'somebody on a phone finds their name and the way out on every page': async (session) => {
    const { page } = session;
    await open(session, '/');
    await page.setViewportSize(PHONE);
    try {
      const account = page.getByRole('button', { name: 'Account' });
      const out = page.getByRole('button', { name: 'Sign out' });
      for (const path of ['/', '/devices', '/commands', '/groups', '/settings/tokens']) {
        await page.goto(session.url + path);
        await tabTo(page, account);
        assertEqual(await out.isVisible(), false, `whether Sign out takes room at ${path}`);
        const boxes = [await account.boundingBox()];
        await page.keyboard.press('Enter');
        await tabTo(page, out);
        boxes.push(await out.boundingBox());
        for (const { x, y, width, height } of boxes) {
          const isWhole = x >= 0 && x + width <= PHONE.width && y + height <= PHONE.height;
          if (!isWhole) throw new Error(`a button is cut off at ${path}`);
        }
        await page.getByRole('dialog').getByText('admin').first().waitFor();
        await page.keyboard.press('Escape');
        await account.and(page.locator(':focus')).waitFor();
      }
    } finally {
      await page.setViewportSize(DESK);
    }
  },

  'the tabs of a device are one row on a phone, with the current one in view': async (session) => {
    const { page, lab } = session;
    const { data } = await lab.api('GET', '/devices?filter[is_enrolled]=true&page[size]=1');
    await open(session, `/devices/${data[0].id}?tab=changes`);
    await page.setViewportSize(PHONE);
    try {
      await page.reload();
      const row = page.getByRole('navigation', { name: 'What is known of the device' });
      await row.getByRole('link', { name: 'Changes' }).waitFor();
      const tops = await row
        .getByRole('link')
        .evaluateAll((links) => links.map((link) => link.getBoundingClientRect().top));
      assertEqual(new Set(tops).size, 1, 'rows of tabs');
      await waitForCurrent(page, 'Changes');
      const facts = row.getByRole('link', { name: 'Facts' });
      await tabTo(page, facts);
      await page.keyboard.press('Enter');
      await page.waitForURL((url) => url.search === '');
      await waitForCurrent(page, 'Facts');
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      assertEqual(width, PHONE.width, 'the width of the page');
    } finally {
      await page.setViewportSize(DESK);
    }
  },

  'the overview leads to the devices of a version, to all, and to the certificates': async (
    session,
  ) => {
    const { page } = session;
    await open(session, '/');
    const versions = page.getByRole('region', { name: 'OS versions' });
    await versions.getByRole('heading', { name: 'macOS' }).waitFor();
    await versions.getByRole('link').first().click();
    await page.getByRole('heading', { level: 1, name: 'Devices' }).waitFor();
    const filters = new URL(page.url()).searchParams.get('f');
    assertEqual(/platform~eq~.*os_version~eq~/.test(filters), true, filters);
    await open(session, '/');
    await page.getByRole('link', { name: /^\d+ devices?$/ }).click();
    await page.getByRole('row').nth(1).waitFor();
    await open(session, '/');
    const credentials = page.getByRole('region', { name: 'Certificates and tokens' });
    await credentials.getByRole('link').first().click();
    await page.waitForURL(/settings\/certificates/);
  },

  'an address of what does not exist says so, and leads on': async (session) => {
    const { page } = session;
    for (const [path, said, way] of [
      ['/devices/999', 'This device does not exist.', 'Show all devices'],
      ['/groups/999', 'This group does not exist.', 'Show all groups'],
      ['/commands/batches/999', 'This batch does not exist.', 'Show all batches'],
    ]) {
      await open(session, path);
      await page.getByText(said).waitFor();
      await page.getByRole('link', { name: way }).waitFor();
      assertEqual(await page.getByText('did not load').count(), 0, `failures of ${path}`);
    }
    const faults = session.takeFaults().filter((fault) => !/status of 404/.test(fault));
    assertEqual(faults.join(), '', 'faults beside those of the addresses');
  },

  'the requests that a page shows as curl are answered': async (session) => {
    const { page, token } = session;
    for (const path of [...CURL, ...SETTINGS.map((name) => `/settings/${name}`)]) {
      await open(session, path);
      await page.getByText('As curl', { exact: true }).click();
      const lines = await page.locator('.as-curl code').allTextContents();
      assertEqual(lines.length > 0, true, `requests of ${path}`);
      for (const line of lines.filter(
        (text) => !text.includes(' -X ') && !text.includes('/doctor'),
      )) {
        const headers = { Authorization: `Bearer ${token}` };
        const { status } = await fetch(ADDRESS.exec(line)[1], { headers });
        assertEqual(status, 200, line);
      }
    }
  },
};
